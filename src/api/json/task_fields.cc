#include "api/json/task_fields.h"

#include <fmt/format.h>

#include <algorithm>

namespace horae {
namespace {

constexpr std::string_view kState = R"({"$ref":"#/components/schemas/State"})";
constexpr std::string_view kRetry = R"({"$ref":"#/components/schemas/Retry"})";

// ---- RetryPolicy ----

constexpr std::array kRetryKinds = {
    std::pair{RetryPolicy::Kind::kNone, std::string_view("none")},
    std::pair{RetryPolicy::Kind::kFixed, std::string_view("fixed")},
    std::pair{RetryPolicy::Kind::kExponential, std::string_view("exponential")},
};

struct AsRetryKind {
  static void write(JsonObject& object, std::string_view name, RetryPolicy::Kind kind) {
    object.add(name, std::ranges::find(kRetryKinds, kind, &decltype(kRetryKinds)::value_type::first)->second);
  }
  static void read(FieldReader& reader, std::string_view name, RetryPolicy::Kind& to) {
    const std::string text = reader.text(name).value_or("");
    const auto* const known = std::ranges::find(kRetryKinds, text, &decltype(kRetryKinds)::value_type::second);
    if (known == kRetryKinds.end()) return reader.fail_text(name, text, "give none, fixed or exponential");
    to = known->first;
  }
};

constexpr std::array kRetryRows = {
    field<&RetryPolicy::kind, AsRetryKind>("kind", R"({"enum":["none","fixed","exponential"]})").required(),
    field<&RetryPolicy::delay>("delay", R"({"$ref":"#/components/schemas/Duration","default":"1s"})"),
    field<&RetryPolicy::factor>("factor", R"({"type":"number","minimum":1,"maximum":100,"default":2})"),
    field<&RetryPolicy::cap>("cap", R"({"$ref":"#/components/schemas/Duration","default":"1h"})"),
    field<&RetryPolicy::jitter>("jitter", R"({"type":"number","minimum":0,"maximum":1,"default":0})"),
};
static_assert(kRetryRows.size() == member_count<RetryPolicy>(), "a member of RetryPolicy has no row");
constexpr auto kRetryNames = names_of(kRetryRows);

struct AsRetry {
  static void write(JsonObject& object, std::string_view name, const RetryPolicy& retry) {
    JsonObject inner(object.key(name));
    kRetryFields.write(inner, retry);
    inner.end();
  }
  static void read(FieldReader& reader, std::string_view name, RetryPolicy& to) {
    const auto json = reader.present_json(name);
    if (!json) return;
    auto read = kRetryFields.read(*json, "retry.");
    if (!read.ok()) return reader.fail(read.error());
    to = *read;
  }
};

// ---- TaskError ----

struct AsErrorArgs {
  static void write(JsonObject& object, std::string_view name, const std::string& args) { object.add_json(name, args); }
  static void read(FieldReader& reader, std::string_view name, std::string& to) {
    const auto json = reader.present_json(name);
    if (!json) return;
    if (kind_of(*json) != JsonKind::kObject) return reader.fail(name, *json, "give an object");
    to = *json;
  }
};

constexpr std::array kTaskErrorRows = {
    field<&TaskError::code>("code", R"({"type":"string","minLength":1})").required(),
    field<&TaskError::args, AsErrorArgs>("args", R"({"type":"object"})"),
    field<&TaskError::description>("description", schema::kText),
};
static_assert(kTaskErrorRows.size() == member_count<TaskError>(), "a member of TaskError has no row");
constexpr auto kTaskErrorNames = names_of(kTaskErrorRows);

struct AsErrors {
  static void write(JsonObject& object, std::string_view name, const std::vector<TaskError>& errors) {
    append_json_array(object.key(name), errors, [](std::string& out, const TaskError& error) {
      JsonObject inner(out);
      kTaskErrorFields.write(inner, error);
      inner.end();
    });
  }
  static void read(FieldReader& reader, std::string_view name, std::vector<TaskError>& to) {
    const auto elements = reader.array(name);
    for (std::size_t i = 0; elements && i < elements->size(); ++i) {
      auto error = kTaskErrorFields.read((*elements)[i], fmt::format("{}[{}].", name, i));
      if (!error.ok()) return reader.fail(error.error());
      to.push_back(std::move(*error));
    }
  }
};

// ---- HistoryEntry ----

// Left out where there is none.
struct AsPresent {
  static void write(JsonObject& object, std::string_view name, const std::optional<double>& value) {
    if (value) object.add(name, *value);
  }
  static void write(JsonObject& object, std::string_view name, const std::string& json) {
    if (!json.empty()) object.add_json(name, json);
  }
};

constexpr std::array kHistoryEntryRows = {
    written<&HistoryEntry::kind, AsName>(
        "_typ", R"({"enum":["TaskAssignment","TaskYield","TaskTimeout","TaskRetry","TaskLateResult"]})")
        .required(),
    written<&HistoryEntry::worker>("worker", schema::kText).required(),
    written<&HistoryEntry::time>("time", schema::kTime).required(),
    written<&HistoryEntry::attempt>("attempt", schema::kInteger).required(),
    written<&HistoryEntry::progress, AsPresent>("progress", schema::kNumber),
    written<&HistoryEntry::detail, AsPresent>("detail", schema::kAny),
};
static_assert(kHistoryEntryRows.size() == member_count<HistoryEntry>(), "a member of HistoryEntry has no row");
constexpr auto kHistoryEntryNames = names_of(kHistoryEntryRows);

struct AsHistory {
  static void write(JsonObject& object, std::string_view name, const History& history) {
    append_json_array(object.key(name), history.entries(), [](std::string& out, const HistoryEntry& entry) {
      JsonObject inner(out);
      kHistoryEntryFields.write(inner, entry);
      inner.end();
    });
  }
};

struct AsOmitted {
  static void write(JsonObject& object, std::string_view name, const History& history) {
    object.add(name, history.omitted());
  }
};

// ---- NewTask ----

struct AsPriority {
  static void read(FieldReader& reader, std::string_view name, int& to) {
    const auto priority = reader.integer(name);
    if (!priority) return;
    if (auto allowed = check_priority(*priority); !allowed.ok()) return reader.fail(allowed.error());
    to = static_cast<int>(*priority);
  }
};

constexpr std::array kNewTaskRows = {
    accepted<&NewTask::id>("id",
                           R"({"type":"string","format":"uuid","description":"Generated by the node if absent"})"),
    accepted<&NewTask::key>(
        "key",
        R"({"$ref":"#/components/schemas/Name","description":"Idempotency key: one queue has one task under each key"})"),
    accepted<&NewTask::queue>("queue", schema::kQueueName).required(),
    accepted<&NewTask::priority, AsPriority>(
        "priority",
        R"({"type":"integer","minimum":0,"maximum":255,"default":50,"description":"Higher is more urgent"})"),
    accepted<&NewTask::spec, AsBytes>("spec", R"({"description":"Any JSON; kept and returned as these exact bytes"})")
        .required(),
    accepted<&NewTask::run_at>("run_at",
                               R"({"type":"string","format":"date-time","description":"Immediately if absent"})"),
    accepted<&NewTask::recurring>(
        "recurring",
        R"({"$ref":"#/components/schemas/Duration","description":"From the end of one run to the next","examples":["1h30m"]})"),
    accepted<&NewTask::max_attempts>(
        "max_attempts",
        R"({"type":"integer","minimum":0,"maximum":1000000,"default":0,"description":"How many tries may fail; 0 means no limit"})"),
    accepted<&NewTask::retry, AsRetry>("retry", kRetry),
};
static_assert(kNewTaskRows.size() == member_count<NewTask>(), "a member of NewTask has no row");
constexpr auto kNewTaskNames = names_of(kNewTaskRows);

// ---- Task ----

constexpr std::array kTaskRows = {
    written<&Task::id>("id", schema::kUuid).required(),
    written<&Task::key>("key", schema::kTextOrNull).required(),
    written<&Task::queue>("queue", schema::kText).required(),
    written<&Task::priority>("priority", schema::kInteger).required(),
    written<&Task::spec, AsBytes>("spec", schema::kAny).required(),
    written<&Task::state, AsName>("state", kState).required(),
    written<&Task::progress>("progress", schema::kNumber).required(),
    written<&Task::created_at>("created_at", schema::kTime).required(),
    written<&Task::updated_at>("updated_at", schema::kTime).required(),
    written<&Task::run_at>("run_at", schema::kTime).required(),
    written<&Task::recurring>("recurring", schema::kTextOrNull).required(),
    written<&Task::attempt>("attempt", R"({"type":"integer","description":"The fencing token"})").required(),
    written<&Task::tries>("tries", schema::kInteger).required(),
    written<&Task::max_attempts>("max_attempts", schema::kInteger).required(),
    written<&Task::retry, AsRetry>("retry", kRetry).required(),
    written<&Task::owner>("owner", schema::kTextOrNull).required(),
    written<&Task::started_at>("started_at", schema::kTimeOrNull).required(),
    written<&Task::lease_expires>("lease_expires", schema::kTimeOrNull).required(),
    written<&Task::errors, AsErrors>("errors", R"({"type":"array","items":{"$ref":"#/components/schemas/TaskError"}})")
        .required(),
    written<&Task::result, AsBytes>("result", schema::kAny).required(),
    written<&Task::checkpoint, AsBytes>("checkpoint", schema::kAny).required(),
    written<&Task::cancel_reason>("cancel_reason", schema::kTextOrNull).required(),
};
constexpr auto kTaskNames = names_of(kTaskRows);

constexpr std::array kTaskHistoryRows = {
    written<&Task::history, AsHistory>("history",
                                       R"({"type":"array","items":{"$ref":"#/components/schemas/HistoryEntry"}})"),
    written<&Task::history, AsOmitted>("history_omitted",
                                       R"({"type":"integer","description":"Entries left out after the first 16"})"),
};
constexpr auto kTaskHistoryNames = names_of(kTaskHistoryRows);

constexpr std::size_t kTaskMembersWithoutRow = 1;  // number, which stays between the stores and the workers
static_assert(kTaskRows.size() + 1 /* history */ + kTaskMembersWithoutRow == member_count<Task>(),
              "a member of Task has no row");

// ---- LeasedTask ----

constexpr std::array kLeasedTaskRows = {
    written<&LeasedTask::id>("id", schema::kUuid).required(),
    written<&LeasedTask::number>("number", schema::kInteger).required(),
    written<&LeasedTask::queue>("queue", schema::kText).required(),
    written<&LeasedTask::priority>("priority", schema::kInteger).required(),
    written<&LeasedTask::spec, AsBytes>("spec", schema::kAny).required(),
    written<&LeasedTask::attempt>("attempt", schema::kInteger).required(),
    written<&LeasedTask::checkpoint, AsBytes>("checkpoint", schema::kAny).required(),
    written<&LeasedTask::lease_expires>("lease_expires", schema::kTime).required(),
};
static_assert(kLeasedTaskRows.size() == member_count<LeasedTask>(), "a member of LeasedTask has no row");
constexpr auto kLeasedTaskNames = names_of(kLeasedTaskRows);

// ---- Settlement ----

// What an owner may report.
constexpr std::array kReports = {Event::kHeartbeat, Event::kComplete, Event::kAbort, Event::kYield, Event::kRelease};

struct AsReport {
  static void read(FieldReader& reader, std::string_view name, Event& to) {
    const std::string text = reader.text(name).value_or("");
    const auto* const known = std::ranges::find(kReports, text, [](Event event) { return to_string(event); });
    if (known == kReports.end())
      return reader.fail_text(name, text, "give heartbeat, complete, abort, yield or release");
    to = *known;
  }
};

constexpr std::array kSettlementRows = {
    accepted<&Settlement::event, AsReport>("event", R"({"enum":["heartbeat","complete","abort","yield","release"]})")
        .required(),
    accepted<&Settlement::id>("id", schema::kUuid).required(),
    accepted<&Settlement::number>("number",
                                  R"({"type":"integer","description":"As in the claim's answer; saves a look-up"})"),
    accepted<&Settlement::attempt>("attempt", schema::kInteger).required(),
    accepted<&Settlement::owner>(
        "owner",
        R"({"anyOf":[{"$ref":"#/components/schemas/Name"},{"type":"null"}],"description":"Of the attempt; in an exchange, that of the call if absent"})"),
    accepted<&Settlement::lease>(
        "lease",
        R"({"$ref":"#/components/schemas/Duration","description":"Of a heartbeat: the new length of the lease, from now on; the old length if absent"})"),
    accepted<&Settlement::progress>(
        "progress", R"({"type":"number","minimum":0,"maximum":1,"description":"Of a heartbeat or a yield"})"),
    accepted<&Settlement::checkpoint, AsBytes>(
        "checkpoint", R"({"description":"Of a heartbeat or a yield: what the next attempt is given"})"),
    accepted<&Settlement::result, AsBytes>("result", R"({"description":"Of a completion"})"),
    accepted<&Settlement::errors, AsErrors>(
        "errors", R"({"type":"array","maxItems":16,"items":{"$ref":"#/components/schemas/TaskError"}})"),
};
constexpr std::size_t kSettlementMembersWithoutRow = 3;  // chance, scope and queue, which no worker sends
static_assert(kSettlementRows.size() + kSettlementMembersWithoutRow == member_count<Settlement>(),
              "a member of Settlement has no row");
constexpr auto kSettlementNames = names_of(kSettlementRows);

}  // namespace

constinit const FieldTable<RetryPolicy> kRetryFields = {kRetryRows, kRetryNames};
constinit const FieldTable<TaskError> kTaskErrorFields = {kTaskErrorRows, kTaskErrorNames};
constinit const FieldTable<HistoryEntry> kHistoryEntryFields = {kHistoryEntryRows, kHistoryEntryNames};
constinit const FieldTable<NewTask> kNewTaskFields = {kNewTaskRows, kNewTaskNames};
constinit const FieldTable<Task> kTaskFields = {kTaskRows, kTaskNames};
constinit const FieldTable<Task> kTaskHistoryFields = {kTaskHistoryRows, kTaskHistoryNames};
constinit const FieldTable<LeasedTask> kLeasedTaskFields = {kLeasedTaskRows, kLeasedTaskNames};
constinit const FieldTable<Settlement> kSettlementFields = {kSettlementRows, kSettlementNames};

}  // namespace horae
