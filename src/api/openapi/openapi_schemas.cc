// The shapes of bodies and answers, as JSON Schema.

#include <array>

#include "api/openapi/openapi.h"

namespace horae {
namespace {

constexpr std::array kSchemas = {
    NamedSchema{"Problem", R"({"type":"object","required":["type","title","status","detail","retryable"],"properties":{
      "type":{"type":"string","description":"Stable: decide by this","examples":["urn:horae:problem:stale_attempt"]},
      "title":{"type":"string"},"status":{"type":"integer"},
      "detail":{"type":"string","description":"What was tried, on which id, and what to do"},
      "retryable":{"type":"boolean","description":"The same request may succeed later"},
      "instance":{"type":"string","description":"The request, as in the log and in X-Request-Id"}}})"},
    NamedSchema{"State", R"({"enum":["scheduled","ready","running","completed","aborted","cancelled"]})"},
    NamedSchema{"Retry", R"({"type":"object","required":["kind"],"properties":{
      "kind":{"enum":["none","fixed","exponential"]},"delay":{"type":"string","default":"1s"},
      "factor":{"type":"number","default":2},"cap":{"type":"string","default":"1h"},
      "jitter":{"type":"number","minimum":0,"maximum":1,"default":0}}})"},
    NamedSchema{"NewTask", R"({"type":"object","required":["queue","spec"],"additionalProperties":false,"properties":{
      "id":{"type":"string","format":"uuid","description":"Made by the node if absent"},
      "key":{"type":"string","maxLength":128,"description":"Submitting twice under one key in one queue makes one task"},
      "queue":{"type":"string","pattern":"^[A-Za-z0-9._-]{1,128}$"},
      "priority":{"type":"integer","minimum":0,"maximum":255,"default":50,"description":"Higher is more urgent"},
      "spec":{"description":"Any JSON; kept and given out as these exact bytes"},
      "run_at":{"type":"string","format":"date-time","description":"At once if absent"},
      "recurring":{"type":"string","description":"From the end of one run to the next","examples":["1h30m"]},
      "max_attempts":{"type":"integer","minimum":0,"default":0,"description":"How many tries may fail; 0 is without end"},
      "retry":{"$ref":"#/components/schemas/Retry"}},
      "examples":[{"queue":"mail","spec":{"to":"a@example.org"}}]})"},
    NamedSchema{"NewTasks", R"({"type":"object","required":["tasks"],"properties":{
      "tasks":{"type":"array","minItems":1,"maxItems":1000,"items":{"$ref":"#/components/schemas/NewTask"}}},
      "examples":[{"tasks":[{"queue":"mail","spec":1},{"queue":"mail","spec":2}]}]})"},
    NamedSchema{"Submitted", R"({"type":"object","required":["id","state","outcome"],"properties":{
      "id":{"type":"string","format":"uuid"},"state":{"$ref":"#/components/schemas/State"},
      "outcome":{"enum":["created","present"]}}})"},
    NamedSchema{"FailedItem", R"({"type":"object","required":["id","problem"],"properties":{
      "id":{"type":["string","null"]},"problem":{"$ref":"#/components/schemas/Problem"}}})"},
    NamedSchema{"SubmitOutcomes", R"({"type":"object","required":["outcomes"],"properties":{"outcomes":{"type":"array",
      "items":{"anyOf":[{"$ref":"#/components/schemas/Submitted"},{"$ref":"#/components/schemas/FailedItem"}]}}}})"},
    NamedSchema{"TaskError", R"({"type":"object","required":["code"],"properties":{
      "code":{"type":"string"},"args":{"type":"object"},"description":{"type":"string"}}})"},
    NamedSchema{"Task", R"({"type":"object","properties":{
      "id":{"type":"string","format":"uuid"},"key":{"type":["string","null"]},"queue":{"type":"string"},
      "priority":{"type":"integer"},"spec":{},"state":{"$ref":"#/components/schemas/State"},
      "progress":{"type":"number"},"created_at":{"type":"string","format":"date-time"},
      "updated_at":{"type":"string","format":"date-time"},"run_at":{"type":"string","format":"date-time"},
      "recurring":{"type":["string","null"]},"attempt":{"type":"integer","description":"The fencing token"},
      "tries":{"type":"integer"},"max_attempts":{"type":"integer"},"retry":{"$ref":"#/components/schemas/Retry"},
      "owner":{"type":["string","null"]},"started_at":{"type":["string","null"],"format":"date-time"},
      "lease_expires":{"type":["string","null"],"format":"date-time"},
      "errors":{"type":"array","items":{"$ref":"#/components/schemas/TaskError"}},"result":{},"checkpoint":{},
      "cancel_reason":{"type":["string","null"]},
      "history":{"type":"array","items":{"type":"object","required":["_typ","worker","time","attempt"],"properties":{
        "_typ":{"enum":["TaskAssignment","TaskYield","TaskTimeout","TaskRetry","TaskLateResult"]},
        "worker":{"type":"string"},"time":{"type":"string","format":"date-time"},"attempt":{"type":"integer"},
        "progress":{"type":"number"},"detail":{}}}},
      "history_omitted":{"type":"integer","description":"Entries left out after the first 16"}}})"},
    NamedSchema{"Page", R"({"type":"object","required":["tasks","next","as_of"],"properties":{
      "tasks":{"type":"array","items":{"$ref":"#/components/schemas/Task"}},
      "next":{"type":["string","null"],"description":"The cursor of the next page; null after the last"},
      "as_of":{"type":"string","format":"date-time"}}})"},
    NamedSchema{"Cancel", R"({"type":"object","properties":{"reason":{"type":"string"}},
      "examples":[{"reason":"no longer needed"}]})"},
    NamedSchema{"CancelMany", R"({"type":"object","required":["ids"],"additionalProperties":false,"properties":{
      "ids":{"type":"array","minItems":1,"maxItems":1000,"items":{"type":"string","format":"uuid"}},
      "reason":{"type":"string"}},
      "examples":[{"ids":["0190f7c2-0a1b-7c3d-8e4f-0123456789ab"],"reason":"no longer needed"}]})"},
    NamedSchema{"Cancelled", R"({"type":"object","required":["id","verdict","state"],"properties":{
      "id":{"type":"string","format":"uuid"},"verdict":{"enum":["accepted","repeated","not_found","wrong_state"]},
      "state":{"anyOf":[{"$ref":"#/components/schemas/State"},{"type":"null"}]},
      "problem":{"$ref":"#/components/schemas/Problem"}}})"},
    NamedSchema{"CancelOutcomes", R"({"type":"object","required":["outcomes"],"properties":{"outcomes":{"type":"array",
      "items":{"anyOf":[{"$ref":"#/components/schemas/Cancelled"},{"$ref":"#/components/schemas/FailedItem"}]}}}})"},
    NamedSchema{"Worker", R"({"type":"object","required":["id"],"properties":{
      "id":{"type":"string","examples":["worker-7"]}}})"},
    NamedSchema{"Claim", R"({"type":"object","required":["owner","queues"],"additionalProperties":false,"properties":{
      "owner":{"type":"string","maxLength":128},"queues":{"type":"array","minItems":1,"maxItems":16,"uniqueItems":true,
      "items":{"type":"string"}},"max":{"type":"integer","minimum":1,"maximum":1000,"default":1},
      "wait":{"type":"string","default":"0s","description":"How long to wait for tasks, 30s at most"},
      "lease":{"type":"string","default":"10s","description":"How long they are the owner's without a heartbeat"},
      "token":{"type":"string","format":"uuid","description":"Made by the caller for this claim, a new one for each: repeat the claim with it if no answer came, at any node and at once. It leases one batch for good: repeated, it gives what is still leased of that, perhaps nothing"}},
      "examples":[{"owner":"worker-7","queues":["mail"],"max":10,"wait":"30s"}]})"},
    NamedSchema{"LeasedTasks", R"({"type":"object","required":["tasks"],"properties":{"tasks":{"type":"array","items":{
      "type":"object","required":["id","number","queue","priority","spec","attempt","checkpoint","lease_expires"],
      "properties":{"id":{"type":"string","format":"uuid"},"number":{"type":"integer"},"queue":{"type":"string"},
      "priority":{"type":"integer"},"spec":{},"attempt":{"type":"integer"},"checkpoint":{},
      "lease_expires":{"type":"string","format":"date-time"}}}},
      "rest":{"type":"array","description":"Leased as well under the caller's own token, but too large for this answer: release them, or beat for them and ask again with the same token once the tasks above are settled",
      "items":{"type":"object","required":["id","attempt"],
      "properties":{"id":{"type":"string","format":"uuid"},"attempt":{"type":"integer"}}}}}})"},
    NamedSchema{"Settlement",
                R"({"type":"object","required":["event","id","attempt","owner"],"additionalProperties":false,
      "properties":{"event":{"enum":["heartbeat","complete","abort","yield","release"]},
      "id":{"type":"string","format":"uuid"},"number":{"type":"integer","description":"As claimed; saves a look-up"},
      "attempt":{"type":"integer"},"owner":{"type":"string"},"lease":{"type":"string",
      "description":"Of a heartbeat: how long from now on; without it, as long as before"},
      "progress":{"type":"number","description":"0 to 1; of a heartbeat or a yield"},
      "checkpoint":{"description":"Of a heartbeat or a yield: what the next attempt gets"},
      "result":{"description":"Of a completion"},
      "errors":{"type":"array","maxItems":16,"items":{"$ref":"#/components/schemas/TaskError"}}}})"},
    NamedSchema{"Settlements", R"({"type":"object","required":["settlements"],"properties":{
      "settlements":{"type":"array","minItems":1,"maxItems":1000,"items":{"$ref":"#/components/schemas/Settlement"}}},
      "examples":[{"settlements":[{"event":"complete","id":"0190f7c2-0a1b-7c3d-8e4f-0123456789ab","attempt":1,
      "owner":"worker-7","result":{}}]}]})"},
    NamedSchema{"SettleOutcome",
                R"({"type":"object","required":["id","verdict","state","attempt","owner","lease_expires"],
      "properties":{"id":{"type":"string","format":"uuid"},
      "verdict":{"enum":["accepted","repeated","not_found","stale_attempt","cancelled","wrong_state"]},
      "state":{"anyOf":[{"$ref":"#/components/schemas/State"},{"type":"null"}]},"attempt":{"type":"integer"},
      "owner":{"type":["string","null"]},"lease_expires":{"type":["string","null"],"format":"date-time"},
      "problem":{"$ref":"#/components/schemas/Problem"}}})"},
    NamedSchema{"SettleOutcomes", R"({"type":"object","required":["outcomes"],"properties":{"outcomes":{"type":"array",
      "items":{"anyOf":[{"$ref":"#/components/schemas/SettleOutcome"},{"$ref":"#/components/schemas/FailedItem"}]}}}})"},
    NamedSchema{"QueueSettings",
                R"({"type":"object","required":["name","paused","ageing_rate","retention"],"properties":{
      "name":{"type":"string"},"paused":{"type":"boolean"},
      "ageing_rate":{"type":"integer","description":"Points of priority for each second ready; 0 is strict"},
      "retention":{"type":"string","description":"How long finished tasks are kept"}}})"},
    NamedSchema{"QueueChange",
                R"({"type":"object","additionalProperties":false,"properties":{"paused":{"type":"boolean"},
      "ageing_rate":{"type":"integer","minimum":0,"maximum":1000000},"retention":{"type":"string"}},
      "examples":[{"ageing_rate":2,"retention":"24h"}]})"},
    NamedSchema{"Queue", R"({"allOf":[{"$ref":"#/components/schemas/QueueSettings"},{"type":"object","properties":{
      "scheduled":{"type":"integer"},"ready":{"type":"integer"},"running":{"type":"integer"},
      "completed":{"type":"integer"},"aborted":{"type":"integer"},"cancelled":{"type":"integer"},
      "oldest_ready":{"type":["string","null"],"description":"How long the longest ready task has been ready"}}}]})"},
    NamedSchema{"Queues", R"({"type":"object","required":["queues","as_of"],"properties":{
      "queues":{"type":"array","items":{"$ref":"#/components/schemas/Queue"}},
      "as_of":{"type":"string","format":"date-time","description":"The counts of finished tasks may be this old"}}})"},
    NamedSchema{"Scheduler", R"({"type":"object","required":["running","slots","backlog","waiting_workers"],
      "properties":{"running":{"type":"boolean","description":"Of the whole cluster"},
      "slots":{"type":"array","description":"Of this node; the internal one is for its upkeep","items":{"type":"object",
      "required":["internal","state"],"properties":{"internal":{"type":"boolean"},"state":{"enum":["idle","busy"]},
      "task":{"type":"string","format":"uuid"},"queue":{"type":"string"},"attempt":{"type":"integer"},
      "since":{"type":"string","format":"date-time"}}}},
      "backlog":{"type":"array","description":"Tasks that wait for a slot, the next one first","items":{"type":"object",
      "required":["level","place","task","queue","attempt","since"],"properties":{"level":{"type":"integer"},
      "place":{"type":"integer"},"task":{"type":"string","format":"uuid"},"queue":{"type":"string"},
      "attempt":{"type":"integer"},"since":{"type":"string","format":"date-time"}}}},
      "waiting_workers":{"type":"integer"}}})"},
    NamedSchema{"SchedulerChange", R"({"type":"object","required":["running","changed"],"properties":{
      "running":{"type":"boolean"},"changed":{"type":"boolean"}}})"},
    NamedSchema{"TokenWish", R"({"type":"object","required":["name","role","queues"],"additionalProperties":false,
      "properties":{"name":{"type":"string","minLength":1,"maxLength":128,"description":"For people: who has it"},
      "role":{"enum":["read","submit","work","admin"],"description":"read: look; submit: also submit and cancel; work: look, claim and settle; admin: everything"},
      "queues":{"type":"array","minItems":1,"maxItems":16,"description":"Names of queues, in which * stands for any characters","items":{
      "type":"string","pattern":"^[A-Za-z0-9._*-]{1,128}$"}}},
      "examples":[{"name":"build","role":"submit","queues":["mail.*"]}]})"},
    NamedSchema{"Token", R"({"type":"object","required":["id","name","role","queues","created_at"],"properties":{
      "id":{"type":"string","examples":["t-3f9a0c51d2e4"]},"name":{"type":"string"},
      "role":{"enum":["read","submit","work","admin"]},"queues":{"type":"array","items":{"type":"string"}},
      "created_at":{"type":"string","format":"date-time"}}})"},
    NamedSchema{"NewToken", R"({"allOf":[{"$ref":"#/components/schemas/Token"},{"type":"object","required":["token"],
      "properties":{"token":{"type":"string","description":"The secret: send it as Authorization: Bearer ..."}}}]})"},
    NamedSchema{"Tokens", R"({"type":"object","required":["tokens"],"properties":{
      "tokens":{"type":"array","items":{"$ref":"#/components/schemas/Token"}}}})"},
    NamedSchema{"ScheduleTaskRequest", R"({"type":"object","required":["command"],"properties":{
      "command":{"type":"string","description":"How long to sleep"},"start_at":{"type":"string","format":"date-time"},
      "recurring":{"type":"string"}},"examples":[{"command":"5s"}]})"},
    NamedSchema{"TaskResponse", R"({"type":"object","required":["id","status","start_at","recurring","command"],
      "properties":{"id":{"type":"string","format":"uuid"},
      "status":{"enum":["SCHEDULED","PENDING","RUNNING","FINISHED"]},"start_at":{"type":"string","format":"date-time"},
      "recurring":{"type":"string","description":"Empty if it does not recur"},"command":{"type":"string"}}})"},
    NamedSchema{"TaskResponses", R"({"type":"array","items":{"$ref":"#/components/schemas/TaskResponse"}})"},
    NamedSchema{"SchedulerMessage",
                R"({"type":"object","required":["message"],"properties":{"message":{"type":"string"}}})"},
    NamedSchema{"SchedulerError", R"({"type":"object","required":["error"],"properties":{"error":{"type":"string"}}})"},
    NamedSchema{"Explanation", R"({"type":"object","required":["id","queue","state","reasons"],"properties":{
      "id":{"type":"string","format":"uuid"},"queue":{"type":"string"},"state":{"$ref":"#/components/schemas/State"},
      "ahead":{"type":"integer","description":"Tasks that are claimed before it, counted to 10,000"},
      "reasons":{"type":"array","items":{"type":"object","required":["code","detail"],"properties":{
      "code":{"enum":["not_due","scheduler_stopped","queue_paused","no_worker","behind_others","next","running",
      "finished"]},"detail":{"type":"string"}}}},
      "errors":{"type":"array","description":"Of an aborted task, as the task itself has them",
      "items":{"$ref":"#/components/schemas/TaskError"}}}})"},
    NamedSchema{"Nodes", R"({"type":"object","required":["nodes"],"properties":{"nodes":{"type":"array","items":{
      "type":"object","required":["id","address","version","started_at","last_seen"],"properties":{
      "id":{"type":"string"},"address":{"type":"string"},"version":{"type":"string"},
      "started_at":{"type":"string","format":"date-time"},"last_seen":{"type":"string","format":"date-time"}}}}}})"},
    NamedSchema{"Status", R"({"type":"object","required":["status","version"],"properties":{
      "status":{"type":"string"},"version":{"type":"string"}}})"},
};

}  // namespace

std::span<const NamedSchema> openapi_schemas() { return kSchemas; }

}  // namespace horae
