// The schemas of bodies and answers. Those of tasks and queues come from their tables of fields.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "api/json/queue_fields.h"
#include "api/json/schedule_json.h"
#include "api/json/task_fields.h"
#include "api/openapi/openapi.h"
#include "base/duration.h"
#include "model/task.h"

namespace horae {
namespace {

// A schema that is written out here.
struct WrittenSchema {
  std::string_view name;
  std::string_view json;
};

constexpr std::array kWritten = {
    WrittenSchema{"Problem",
                  R"({"type":"object","required":["type","title","status","detail","retryable"],"properties":{
      "type":{"type":"string","description":"Stable: programs decide by it","examples":["urn:horae:problem:stale_attempt"]},
      "title":{"type":"string"},"status":{"type":"integer"},
      "detail":{"type":"string","description":"What was tried, on which id, and what to do"},
      "retryable":{"type":"boolean","description":"The same request may succeed later"},
      "instance":{"type":"string","description":"The request, also in the log and in X-Request-Id"}}})"},
    WrittenSchema{"State", R"({"enum":["scheduled","ready","running","completed","aborted","cancelled"]})"},
    WrittenSchema{"Duration", R"({"type":"string","description":"Numbers with units: ns, us, ms, s, m, h",
      "pattern":"^\\+?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)$","examples":["1h30m"]})"},
    WrittenSchema{"Name", R"({"type":"string","minLength":1,"maxLength":128,"description":"Without control characters",
      "pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$"})"},
    WrittenSchema{"Reason", R"({"type":["string","null"],"maxLength":1024,"pattern":"^[^\\u0000]*$",
      "description":"At most 1,024 bytes"})"},
    WrittenSchema{"QueueName", R"({"type":"string","minLength":1,"maxLength":128,"pattern":"^[A-Za-z0-9._-]*$"})"},
    WrittenSchema{"NewTasks", R"({"type":"object","required":["tasks"],"additionalProperties":false,"properties":{
      "tasks":{"type":"array","minItems":1,"maxItems":1000,"items":{"$ref":"#/components/schemas/NewTask"}}},
      "examples":[{"tasks":[{"queue":"mail","spec":1},{"queue":"mail","spec":2}]}]})"},
    WrittenSchema{"Submitted", R"({"type":"object","required":["id","state","outcome"],"properties":{
      "id":{"type":"string","format":"uuid"},"state":{"$ref":"#/components/schemas/State"},
      "outcome":{"enum":["created","present"]}}})"},
    WrittenSchema{"FailedItem", R"({"type":"object","required":["id","problem"],"properties":{
      "id":{"type":["string","null"]},"problem":{"$ref":"#/components/schemas/Problem"}}})"},
    WrittenSchema{"SubmitOutcomes",
                  R"({"type":"object","required":["outcomes"],"properties":{"outcomes":{"type":"array",
      "items":{"anyOf":[{"$ref":"#/components/schemas/Submitted"},{"$ref":"#/components/schemas/FailedItem"}]}}}})"},
    WrittenSchema{"Page", R"({"type":"object","required":["tasks","next","as_of"],"properties":{
      "tasks":{"type":"array","items":{"$ref":"#/components/schemas/Task"}},
      "next":{"type":["string","null"],"description":"The cursor of the next page; null after the last"},
      "as_of":{"type":"string","format":"date-time"}}})"},
    WrittenSchema{"Cancel", R"({"type":"object","additionalProperties":false,"properties":{
      "reason":{"$ref":"#/components/schemas/Reason"}},
      "examples":[{"reason":"no longer needed"}]})"},
    WrittenSchema{"CancelMany", R"({"type":"object","required":["ids"],"additionalProperties":false,"properties":{
      "ids":{"type":"array","minItems":1,"maxItems":1000,"items":{"type":"string","format":"uuid"}},
      "reason":{"$ref":"#/components/schemas/Reason"}},
      "examples":[{"ids":["0190f7c2-0a1b-7c3d-8e4f-0123456789ab"],"reason":"no longer needed"}]})"},
    WrittenSchema{"Cancelled", R"({"type":"object","required":["id","verdict","state"],"properties":{
      "id":{"type":"string","format":"uuid"},"verdict":{"enum":["accepted","repeated","not_found","wrong_state"]},
      "state":{"anyOf":[{"$ref":"#/components/schemas/State"},{"type":"null"}]},
      "problem":{"$ref":"#/components/schemas/Problem"}}})"},
    WrittenSchema{"CancelOutcomes",
                  R"({"type":"object","required":["outcomes"],"properties":{"outcomes":{"type":"array",
      "items":{"anyOf":[{"$ref":"#/components/schemas/Cancelled"},{"$ref":"#/components/schemas/FailedItem"}]}}}})"},
    WrittenSchema{"Worker", R"({"type":"object","required":["id"],"properties":{
      "id":{"type":"string","examples":["worker-7"]}}})"},
    WrittenSchema{
        "LeasedTasks",
        R"({"type":"object","required":["tasks"],"properties":{"tasks":{"type":"array","items":{"$ref":"#/components/schemas/LeasedTask"}},
      "rest":{"type":"array","description":"Leased as well under the caller's token, but too large for this answer: release them, or keep them by heartbeats and repeat the claim with the same token once the tasks above are settled",
      "items":{"type":"object","required":["id","attempt"],
      "properties":{"id":{"type":"string","format":"uuid"},"attempt":{"type":"integer"}}}},
      "attention":{"const":true,"description":"A task of the owner was cancelled: send the heartbeats of its tasks now, to learn which. Absent if there is nothing to tell"}}})"},
    WrittenSchema{"Settlements",
                  R"({"type":"object","required":["settlements"],"additionalProperties":false,"properties":{
      "settlements":{"type":"array","minItems":1,"maxItems":1000,"items":{"$ref":"#/components/schemas/Settlement"}}},
      "examples":[{"settlements":[{"event":"complete","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":1,
      "owner":"worker-7","result":{}}]}]})"},
    WrittenSchema{"SettleOutcome",
                  R"({"type":"object","required":["id","verdict","state","attempt","owner","lease_expires"],
      "properties":{"id":{"type":"string","format":"uuid"},
      "verdict":{"enum":["accepted","repeated","not_found","stale_attempt","cancelled","wrong_state"]},
      "state":{"anyOf":[{"$ref":"#/components/schemas/State"},{"type":"null"}]},"attempt":{"type":"integer"},
      "owner":{"type":["string","null"]},"lease_expires":{"type":["string","null"],"format":"date-time"},
      "problem":{"$ref":"#/components/schemas/Problem"}}})"},
    WrittenSchema{"SettleOutcomes",
                  R"({"type":"object","required":["outcomes"],"properties":{"outcomes":{"type":"array",
      "items":{"anyOf":[{"$ref":"#/components/schemas/SettleOutcome"},{"$ref":"#/components/schemas/FailedItem"}]}}}})"},
    WrittenSchema{"Exchanged",
                  R"({"allOf":[{"$ref":"#/components/schemas/LeasedTasks"},{"type":"object","properties":{
      "outcomes":{"type":"array","description":"One for each settlement, in order; absent if there was none",
      "items":{"anyOf":[{"$ref":"#/components/schemas/SettleOutcome"},{"$ref":"#/components/schemas/FailedItem"}]}}}}]})"},
    WrittenSchema{"Schedules", R"({"type":"object","required":["schedules","next"],"properties":{
      "schedules":{"type":"array","items":{"$ref":"#/components/schemas/Schedule"}},
      "next":{"type":["string","null"],"description":"`after` of the next page; null after the last"}}})"},
    WrittenSchema{"Fires", R"({"type":"object","required":["fires"],"properties":{"fires":{"type":"array","items":{
      "type":"object","required":["at","last","count","task","skipped"],"properties":{
      "at":{"type":"string","format":"date-time","description":"The nominal time"},
      "last":{"type":"string","format":"date-time","description":"Of several skipped ones that follow one another"},
      "count":{"type":"integer","description":"How many they are; counted up to 10,000"},
      "task":{"type":["string","null"],"format":"uuid"},
      "skipped":{"enum":["missed","catch_up","window","overlap","queue_limit",null]}}}}}})"},
    WrittenSchema{"FirePreview",
                  R"({"type":"object","required":["words","fires"],"properties":{"words":{"type":"string"},
      "fires":{"type":"array","items":{"type":"object","required":["at","run_at"],"properties":{
      "at":{"type":"string","format":"date-time"},
      "run_at":{"type":"string","format":"date-time","description":"With jitter"}}}}}})"},
    WrittenSchema{"Queues", R"({"type":"object","required":["queues","as_of"],"properties":{
      "queues":{"type":"array","items":{"$ref":"#/components/schemas/Queue"}},
      "as_of":{"type":"string","format":"date-time","description":"The counts of finished tasks may be as old as this"}}})"},
    WrittenSchema{"Bytes", R"({"description":"Text, other bytes in base64, or null","anyOf":[{"type":["string","null"]},
      {"type":"object","required":["base64"],"additionalProperties":false,"properties":{"base64":{"type":"string",
      "pattern":"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"}}}]})"},
    WrittenSchema{"MessageHeaders", R"({"type":"array","description":"In order; a name may come again",
      "items":{"type":"object","minProperties":1,"maxProperties":1,"additionalProperties":{"$ref":"#/components/schemas/Bytes"}},
      "examples":[[{"trace":"1"},{"trace":"2"},{"raw":{"base64":"/wA="}},{"none":null}]]})"},
    WrittenSchema{"NewMessage", R"({"type":"object","additionalProperties":false,"properties":{
      "id":{"$ref":"#/components/schemas/Name","description":"Unique while the message waits or is ready; made if it is absent"},
      "deadline":{"type":"string","format":"date-time"},
      "delay":{"$ref":"#/components/schemas/Duration","description":"Instead of a deadline: so long from now"},
      "key":{"$ref":"#/components/schemas/Bytes"},"value":{"$ref":"#/components/schemas/Bytes"},
      "headers":{"$ref":"#/components/schemas/MessageHeaders"}},
      "oneOf":[{"required":["deadline"]},{"required":["delay"]}],
      "examples":[{"id":"order-7","delay":"90s","key":"customer-3","value":"{\"remind\":7}"}]})"},
    WrittenSchema{"NewMessages", R"({"type":"object","required":["messages"],"additionalProperties":false,"properties":{
      "messages":{"type":"array","minItems":1,"maxItems":1000,"items":{"$ref":"#/components/schemas/NewMessage"}}},
      "examples":[{"messages":[{"id":"order-7","delay":"90s","value":"1"}]}]})"},
    WrittenSchema{"MessagePut", R"({"type":"object","required":["id","outcome"],"properties":{"id":{"type":"string"},
      "outcome":{"enum":["created","present"]}}})"},
    WrittenSchema{"MessagePutOutcomes",
                  R"({"type":"object","required":["outcomes"],"properties":{"outcomes":{"type":"array",
      "items":{"anyOf":[{"$ref":"#/components/schemas/MessagePut"},{"$ref":"#/components/schemas/FailedItem"}]}}}})"},
    WrittenSchema{"MessageChange", R"({"type":"object","additionalProperties":false,"properties":{
      "deadline":{"type":"string","format":"date-time"},"delay":{"$ref":"#/components/schemas/Duration"}},
      "oneOf":[{"required":["deadline"]},{"required":["delay"]}],"examples":[{"delay":"5m"}]})"},
    WrittenSchema{"MovedMessage", R"({"type":"object","required":["id","deadline"],"properties":{"id":{"type":"string"},
      "deadline":{"type":"string","format":"date-time"}}})"},
    WrittenSchema{"Message", R"({"type":"object",
      "required":["id","state","deadline","due","key","value","headers","readied_at","readied_by"],"properties":{
      "id":{"type":"string"},"state":{"enum":["waiting","ready"]},"deadline":{"type":"string","format":"date-time"},
      "due":{"type":"string","format":"date-time","description":"The deadline, or later after a publish that failed"},
      "key":{"$ref":"#/components/schemas/Bytes"},"value":{"$ref":"#/components/schemas/Bytes"},"headers":{"type":"array"},
      "readied_at":{"type":["string","null"],"format":"date-time"},"readied_by":{"type":["string","null"],"format":"uuid"},
      "partition":{"type":"integer","description":"Where its record is in the input topic; absent if it came by REST"},
      "offset":{"type":"integer"}}})"},
    WrittenSchema{"MessagePage", R"({"type":"object","required":["messages","next"],"properties":{
      "messages":{"type":"array","items":{"$ref":"#/components/schemas/Message"}},
      "next":{"type":["string","null"],"description":"The cursor of the next page; null after the last"}}})"},
    WrittenSchema{"DelayEnd", R"({"type":["object","null"],"required":["connected","problem"],"properties":{
      "connected":{"type":"boolean"},"problem":{"type":["string","null"]},"partitions":{"type":"integer"},
      "lag":{"type":["integer","null"]}}})"},
    WrittenSchema{"DelayQueue", R"({"type":"object","required":["name","counts","node","totals","fired_per_second",
      "timing_advance","held","pending","behind","stalled","input","output","dead_letters"],"properties":{
      "name":{"type":"string"},"counts":{"type":["object","null"],"description":"Of all nodes, up to a limit; null before the first count",
      "required":["waiting","ready","overdue","oldest_overdue","more","as_of"],"properties":{"waiting":{"type":"integer"},
      "ready":{"type":"integer"},"overdue":{"type":"integer"},"oldest_overdue":{"type":["string","null"]},
      "more":{"type":"boolean","description":"There may be more than were counted"},"as_of":{"type":"string","format":"date-time"}}},
      "node":{"type":"string","format":"uuid","description":"Of this node, new at each start"},
      "totals":{"type":"object","description":"Of this node since its start","properties":{"enqueued":{"type":"integer"},
      "repeated":{"type":"integer"},"late":{"type":"integer"},"fired":{"type":"integer"},"failed":{"type":"integer"},
      "dead_lettered":{"type":"integer"},"suspected_failures":{"type":"integer"},"rows_gone":{"type":"integer"},
      "bad":{"type":"array","items":{"type":"object","required":["reason","records"],"properties":{"reason":{"type":"string"},
      "records":{"type":"integer"}}}}}},
      "fired_per_second":{"type":"number"},"lateness_p50":{"type":["string","null"]},"lateness_p99":{"type":["string","null"]},
      "lateness_p999":{"type":["string","null"]},"publish_p50":{"type":["string","null"]},"publish_p99":{"type":["string","null"]},
      "timing_advance":{"type":"string"},"held":{"type":"integer"},"pending":{"type":"integer"},
      "behind":{"type":"boolean","description":"Overdue messages wait, and nothing is taken in"},
      "stalled":{"type":"boolean","description":"The output does not acknowledge"},
      "clock_offset":{"type":["string","null"],"description":"The store's clock against the node's"},
      "input":{"$ref":"#/components/schemas/DelayEnd"},"output":{"$ref":"#/components/schemas/DelayEnd"},
      "dead_letters":{"$ref":"#/components/schemas/DelayEnd"}}})"},
    WrittenSchema{"DelayQueues", R"({"type":"object","required":["queues"],"properties":{
      "queues":{"type":"array","items":{"$ref":"#/components/schemas/DelayQueue"}}}})"},
    WrittenSchema{"QueueRemoval", R"({"type":"object","required":["name","cancelled","purged"],"properties":{
      "name":{"type":"string"},"cancelled":{"type":"integer","description":"Tasks that waited or ran, and were cancelled"},
      "purged":{"type":"integer","description":"Finished tasks that were removed, with those that were cancelled"}}})"},
    WrittenSchema{"Scheduler", R"({"type":"object","required":["running","slots","backlog","waiting_workers"],
      "properties":{"running":{"type":"boolean","description":"In the whole cluster"},
      "slots":{"type":"array","description":"The slots of this node; the internal one is for its upkeep","items":{"type":"object",
      "required":["internal","state"],"properties":{"internal":{"type":"boolean"},"state":{"enum":["idle","busy"]},
      "task":{"type":"string","format":"uuid"},"queue":{"type":"string"},"attempt":{"type":"integer"},
      "since":{"type":"string","format":"date-time"}}}},
      "backlog":{"type":"array","description":"Tasks that wait for a slot, the next one first","items":{"type":"object",
      "required":["level","place","task","queue","attempt","since"],"properties":{"level":{"type":"integer"},
      "place":{"type":"integer"},"task":{"type":"string","format":"uuid"},"queue":{"type":"string"},
      "attempt":{"type":"integer"},"since":{"type":"string","format":"date-time"}}}},
      "waiting_workers":{"type":"integer"}}})"},
    WrittenSchema{"SchedulerChange", R"({"type":"object","required":["running","changed"],"properties":{
      "running":{"type":"boolean"},"changed":{"type":"boolean"}}})"},
    WrittenSchema{"TokenWish", R"({"type":"object","required":["name","role","queues"],"additionalProperties":false,
      "properties":{"name":{"$ref":"#/components/schemas/Name","description":"For people: the holder of the token"},
      "role":{"enum":["read","submit","work","admin"],"description":"read: read only; submit: also submit and cancel; work: read, claim and settle; admin: everything"},
      "queues":{"type":"array","minItems":1,"maxItems":16,"description":"Names of queues; * matches any characters","items":{
      "type":"string","pattern":"^[A-Za-z0-9._*-]{1,128}$"}}},
      "examples":[{"name":"build","role":"submit","queues":["mail.*"]}]})"},
    WrittenSchema{"Token", R"({"type":"object","required":["id","name","role","queues","created_at"],"properties":{
      "id":{"type":"string","examples":["t-3f9a0c51d2e4"]},"name":{"type":"string"},
      "role":{"enum":["read","submit","work","admin"]},"queues":{"type":"array","items":{"type":"string"}},
      "created_at":{"type":"string","format":"date-time"}}})"},
    WrittenSchema{"NewToken", R"({"allOf":[{"$ref":"#/components/schemas/Token"},{"type":"object","required":["secret"],
      "properties":{"secret":{"type":"string","description":"Send it as Authorization: Bearer ..."}}}]})"},
    WrittenSchema{"Tokens", R"({"type":"object","required":["tokens"],"properties":{
      "tokens":{"type":"array","items":{"$ref":"#/components/schemas/Token"}}}})"},
    WrittenSchema{"ScheduleTaskRequest", R"({"type":"object","required":["command"],"properties":{
      "command":{"$ref":"#/components/schemas/Duration","description":"How long to sleep"},
      "start_at":{"anyOf":[{"type":"string","format":"date-time"},{"enum":["",null]}]},
      "recurring":{"anyOf":[{"$ref":"#/components/schemas/Duration"},{"enum":["",null]}]}},"examples":[{"command":"5s"}]})"},
    WrittenSchema{"TaskResponse", R"({"type":"object","required":["id","status","start_at","recurring","command"],
      "properties":{"id":{"type":"string","format":"uuid"},
      "status":{"enum":["SCHEDULED","PENDING","RUNNING","FINISHED"]},"start_at":{"type":"string","format":"date-time"},
      "recurring":{"type":"string","description":"Empty if it does not recur"},"command":{"type":"string"}}})"},
    WrittenSchema{"TaskResponses", R"({"type":"array","items":{"$ref":"#/components/schemas/TaskResponse"}})"},
    WrittenSchema{"SchedulerMessage",
                  R"({"type":"object","required":["message"],"properties":{"message":{"type":"string"}}})"},
    WrittenSchema{"SchedulerError",
                  R"({"type":"object","required":["error"],"properties":{"error":{"type":"string"}}})"},
    WrittenSchema{"Explanation", R"({"type":"object","required":["id","queue","state","reasons"],"properties":{
      "id":{"type":"string","format":"uuid"},"queue":{"type":"string"},"state":{"$ref":"#/components/schemas/State"},
      "ahead":{"type":"integer","description":"Tasks that will be claimed before it, counted up to 10,000"},
      "reasons":{"type":"array","items":{"type":"object","required":["code","detail"],"properties":{
      "code":{"enum":["not_due","scheduler_stopped","queue_paused","no_worker","behind_others","next","running",
      "in_backlog","finished"]},"detail":{"type":"string"}}}},
      "errors":{"type":"array","description":"Of an aborted task: the same as the task's own",
      "items":{"$ref":"#/components/schemas/TaskError"}}}})"},
    WrittenSchema{"Nodes", R"({"type":"object","required":["nodes"],"properties":{"nodes":{"type":"array","items":{
      "type":"object","required":["id","address","version","started_at","last_seen"],"properties":{
      "id":{"type":"string"},"address":{"type":"string"},"version":{"type":"string"},
      "started_at":{"type":"string","format":"date-time"},"last_seen":{"type":"string","format":"date-time"}}}}}})"},
    WrittenSchema{"Status", R"({"type":"object","required":["status","version"],"properties":{
      "status":{"type":"string"},"version":{"type":"string"}}})"},
};

template <typename T>
std::string schema_of(const FieldTable<T>& fields, std::string_view more = {}) {
  return object_schema(properties_of(fields), more);
}

std::string task_schema() {
  std::vector<Property> properties = properties_of(kTaskFields);
  std::ranges::copy(properties_of(kTaskHistoryFields), std::back_inserter(properties));
  return object_schema(properties);
}

std::string queue_settings_schema() {
  std::vector<Property> properties = {{.name = "name", .schema = std::string(schema::kQueueName), .is_required = true}};
  std::ranges::copy(properties_of(kQueueSettingsFields), std::back_inserter(properties));
  return object_schema(properties);
}

std::string new_schedule_schema() {
  std::vector<Property> properties = {
      {.name = "task",
       .schema = R"({"$ref":"#/components/schemas/NewTask","description":"Without id, key, run_at and recurring"})",
       .is_required = true},
      {.name = "paused", .schema = R"({"type":["boolean","null"],"default":false})"}};
  std::ranges::copy(properties_of(kScheduleRulesFields), std::back_inserter(properties));
  return object_schema(properties, R"("additionalProperties":false,
      "examples":[{"cron":"30 2 * * *","zone":"Europe/Berlin","task":{"queue":"reports","spec":{"kind":"daily"}}}])");
}

std::string schedule_schema() {
  std::vector<Property> properties = {
      {"name", std::string(schema::kQueueName), true},
      {"version", std::string(schema::kUuid), true},
      {"task", R"({"type":"object","required":["queue","priority","spec","max_attempts","retry"]})", true},
      {"paused", std::string(schema::kBoolean), true},
      {"words", R"({"type":"string","description":"When it fires, in words"})", true},
      {"created_at", std::string(schema::kTime), true},
      {"updated_at", std::string(schema::kTime), true},
      {"next_at", std::string(schema::kTimeOrNull), true},
      {"last_task", R"({"type":["string","null"],"format":"uuid","description":"Of the newest fire that became one"})",
       true}};
  for (Property& property : properties_of(kScheduleRulesFields)) {
    properties.push_back({property.name, std::move(property.schema), true});
  }
  return object_schema(properties);
}

std::string claim_schema() {
  const std::string lease = fmt::format(
      R"({{"anyOf":[{{"$ref":"#/components/schemas/Duration"}},{{"type":"null"}}],"default":"{}","description":"How long the owner keeps the tasks without a heartbeat, {} to {}"}})",
      format_duration(kDefaultLease), format_duration(kMinLease), format_duration(kMaxLease));
  return object_schema(
      {{"owner", R"({"$ref":"#/components/schemas/Name"})", true},
       {"queues",
        R"({"type":"array","minItems":1,"maxItems":16,"uniqueItems":true,"items":{"$ref":"#/components/schemas/QueueName"}})",
        true},
       {"max", R"({"type":["integer","null"],"minimum":1,"maximum":1000,"default":1})"},
       {"wait",
        R"({"anyOf":[{"$ref":"#/components/schemas/Duration"},{"type":"null"}],"default":"0s","description":"How long to wait for tasks, 30s at most"})"},
       {"lease", lease},
       {"token",
        R"({"type":["string","null"],"format":"uuid","description":"Generated by the caller, a new one for each claim. If no answer arrives, repeat the claim with the same token and owner, at any node and without waiting. A token leases one batch only: repeated, the claim returns the tasks of that batch that are still leased, perhaps none"})"}},
      R"("additionalProperties":false,"examples":[{"owner":"worker-7","queues":["mail"],"max":10,"wait":"30s"}])");
}

std::string exchange_schema() {
  return object_schema(
      {{"owner", R"({"$ref":"#/components/schemas/Name"})", true},
       {"settlements",
        R"({"type":["array","null"],"maxItems":1000,"items":{"$ref":"#/components/schemas/Settlement"}})"},
       {"claim",
        R"({"description":"As in /v1/claim, for the owner of the call; the token is required","type":["object","null"],"required":["queues","token"],"additionalProperties":false,"properties":{"queues":{"type":"array","minItems":1,"maxItems":16,"uniqueItems":true,"items":{"$ref":"#/components/schemas/QueueName"}},"max":{"type":["integer","null"],"minimum":1,"maximum":1000,"default":1},"lease":{"anyOf":[{"$ref":"#/components/schemas/Duration"},{"type":"null"}]},"token":{"type":"string","format":"uuid"}}})"},
       {"wait",
        R"({"anyOf":[{"$ref":"#/components/schemas/Duration"},{"type":"null"}],"default":"0s","description":"How long to wait for tasks, 30s at most; without a claim it waits for `attention` alone. A call that settles anything does not wait"})"}},
      R"("additionalProperties":false,"examples":[{"owner":"worker-7","settlements":[{"event":"complete","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":1}],"claim":{"queues":["mail"],"max":10,"token":"0190f7c2-0a1b-7c3d-8e4f-0123456789ac"}}])");
}

std::vector<NamedSchema> make_schemas() {
  std::vector<NamedSchema> all = {
      {"Retry", schema_of(kRetryFields, R"("additionalProperties":false)")},
      {"NewTask", schema_of(kNewTaskFields, R"("additionalProperties":false,
          "examples":[{"queue":"mail","spec":{"to":"a@example.org"}}])")},
      {"TaskError", schema_of(kTaskErrorFields, R"("additionalProperties":false)")},
      {"HistoryEntry", schema_of(kHistoryEntryFields)},
      {"Task", task_schema()},
      {"LeasedTask", schema_of(kLeasedTaskFields)},
      {"Claim", claim_schema()},
      {"Exchange", exchange_schema()},
      {"Settlement", schema_of(kSettlementFields, R"("additionalProperties":false)")},
      {"QueueSettings", queue_settings_schema()},
      {"NewSchedule", new_schedule_schema()},
      {"Schedule", schedule_schema()},
      {"QueueChange", schema_of(kQueueChangeFields, R"("additionalProperties":false,
          "examples":[{"ageing_rate":2,"retention":"24h"}])")},
      {"Queue", fmt::format(R"({{"allOf":[{{"$ref":"#/components/schemas/QueueSettings"}},{}]}})",
                            schema_of(kQueueCountFields))},
  };
  for (const WrittenSchema& schema : kWritten) all.push_back({schema.name, std::string(schema.json)});
  return all;
}

}  // namespace

const std::vector<NamedSchema>& openapi_schemas() {
  static const std::vector<NamedSchema> kSchemas = make_schemas();
  return kSchemas;
}

}  // namespace horae
