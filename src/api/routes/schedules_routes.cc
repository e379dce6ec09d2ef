// /v1/schedules: work that recurs by the calendar.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "api/api.h"
#include "api/json/schedule_json.h"
#include "api/json/task_json.h"
#include "api/routes/routes.h"
#include "base/quote.h"

namespace horae {
namespace {

using CallPtr = std::shared_ptr<Call>;

constexpr int kMaxLimit = 1'000;
constexpr int kDefaultLimit = 100;
constexpr int kDefaultPreview = 10;
constexpr int kMostTries = 5;

Error no_such_schedule(std::string_view name) {
  return {ErrorCode::kNotFound,
          fmt::format("schedule {}: there is none; `horae schedule list` shows all", quote(name))};
}

// A whole number from 1 on.
Result<int> read_count(const Call& call, std::string_view name, int otherwise) {
  const auto text = call.parameter(name);
  if (!text) return otherwise;
  int count = 0;
  const auto read = std::from_chars(text->data(), text->data() + text->size(), count);
  if (read.ec == std::errc() && read.ptr == text->data() + text->size() && count >= 1 && count <= kMaxLimit)
    return count;
  return Error{ErrorCode::kMalformed,
               fmt::format("{} {}: give a whole number, 1 to {}", name, quote(*text), kMaxLimit)};
}

// The schedule of the path, if the caller may see it; else the call is answered.
std::optional<Schedule> find_schedule(Api& api, const Call& call) {
  auto found = api.parts().schedules.get(call.arguments[0]);
  if (!found.ok()) {
    call.fail(found.error());
    return std::nullopt;
  }
  if (!*found || !call.principal.allows((*found)->definition.task.queue)) {
    call.fail(no_such_schedule(call.arguments[0]));
    return std::nullopt;
  }
  return std::move(*found);
}

void answer_schedule(const Call& call, int status, const Schedule& schedule) {
  HttpResponse response{.status = status, .headers = {{"ETag", "\"" + to_string(schedule.version) + "\""}}};
  append_schedule(response.body, schedule, system_zones());
  if (status == 201) response.headers.push_back({"Location", "/v1/schedules/" + schedule.definition.name});
  call.answer(std::move(response));
}

// ---- Definitions ----

// The version that the caller expects: If-Match: "0190f7c2-...".
Result<std::optional<Uuid>> expected_version(const Call& call) {
  std::string_view text = call.request.header("If-Match");
  if (text.empty()) return std::optional<Uuid>();
  if (text.size() > 1 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  const auto version = parse_uuid(text);
  if (version.ok()) return std::optional(*version);
  return Error{ErrorCode::kMalformed, fmt::format("If-Match {}: give the version of the schedule", quote(text))};
}

void answer_put(const Call& call, const PutOutcome& outcome) {
  const std::string& name = call.arguments[0];
  switch (outcome.kind) {
    case PutOutcome::Kind::kCreated:
      return answer_schedule(call, 201, *outcome.schedule);
    case PutOutcome::Kind::kChanged:
    case PutOutcome::Kind::kUnchanged:
      return answer_schedule(call, 200, *outcome.schedule);
    case PutOutcome::Kind::kMismatch:
      return call.fail({ErrorCode::kConflict,
                        fmt::format("schedule {}: its version is not the one in If-Match: it was changed or removed; "
                                    "read it again",
                                    quote(name))});
    case PutOutcome::Kind::kOverLimit:
      return call.fail({ErrorCode::kOverLimit,
                        fmt::format("schedule {}: there are {} schedules, as many as there may be; remove one",
                                    quote(name), kMaxSchedules)});
  }
}

void put_schedule(Api& api, const CallPtr& call) {
  const auto expected = expected_version(*call);
  if (!expected.ok()) return call->fail(expected.error());
  auto schedule = read_schedule(call->arguments[0], call->request.body, system_zones());
  if (!schedule.ok()) return call->fail(schedule.error());
  if (auto allowed = call->check_scope(schedule->task.queue); !allowed.ok()) return call->fail(allowed.error());
  if (const auto& allowance = call->principal.allowance) {
    schedule->maker = allowance->token;
    schedule->maker_queues = static_cast<std::int64_t>(allowance->most);
  }
  api.read(call, [&api, call, schedule = std::move(*schedule), expected = *expected] {
    const auto old = api.parts().schedules.get(schedule.name);
    if (!old.ok()) return call->fail(old.error());
    if (*old) {
      if (auto allowed = call->check_scope((*old)->definition.task.queue); !allowed.ok()) {
        return call->fail(allowed.error());
      }
    }
    const auto outcome = api.parts().schedules.put(schedule, api.parts().ids.next(), expected);
    if (!outcome.ok()) return call->fail(outcome.error());
    answer_put(*call, *outcome);
  });
}

void get_schedule(Api& api, const CallPtr& call) {
  api.read(call, [&api, call] {
    if (const auto schedule = find_schedule(api, *call)) answer_schedule(*call, 200, *schedule);
  });
}

void delete_schedule(Api& api, const CallPtr& call) {
  api.read(call, [&api, call] {
    if (!find_schedule(api, *call)) return;
    const auto removed = api.parts().schedules.remove(call->arguments[0], std::nullopt);
    if (!removed.ok()) return call->fail(removed.error());
    call->answer({.status = 204});
  });
}

void list_schedules(Api& api, const CallPtr& call) {
  const auto limit = read_count(*call, "limit", kDefaultLimit);
  if (!limit.ok()) return call->fail(limit.error());
  const std::string after(call->parameter("after").value_or(""));
  api.read(call, [&api, call, limit = static_cast<std::size_t>(*limit), after] {
    auto list = api.parts().schedules.list(after, limit);
    if (!list.ok()) return call->fail(list.error());
    const std::optional<std::string> next =
        list->size() == limit ? std::optional(list->back().definition.name) : std::nullopt;
    std::erase_if(*list, [&](const Schedule& each) { return !call->principal.allows(each.definition.task.queue); });
    std::string json;
    JsonObject object(json);
    append_json_array(object.key("schedules"), *list, [](std::string& out, const Schedule& schedule) {
      append_schedule(out, schedule, system_zones());
    });
    object.add("next", next);
    object.end();
    call->answer(200, std::move(json));
  });
}

// Another client may change the schedule at the same time: then its change stays, and this one is made as well.
void set_paused(Api& api, const CallPtr& call, bool paused) {
  api.read(call, [&api, call, paused] {
    for (int i = 0; i < kMostTries; ++i) {
      auto schedule = find_schedule(api, *call);
      if (!schedule) return;
      schedule->definition.paused = paused;
      const auto outcome = api.parts().schedules.put(schedule->definition, api.parts().ids.next(), schedule->version);
      if (!outcome.ok()) return call->fail(outcome.error());
      if (outcome->kind != PutOutcome::Kind::kMismatch) return answer_schedule(*call, 200, *outcome->schedule);
    }
    call->fail({ErrorCode::kUnavailable,
                fmt::format("schedule {}: other clients keep changing it; try again", quote(call->arguments[0]))});
  });
}

void pause_schedule(Api& api, const CallPtr& call) { set_paused(api, call, true); }
void resume_schedule(Api& api, const CallPtr& call) { set_paused(api, call, false); }

// ---- Fires ----

void list_fires(Api& api, const CallPtr& call) {
  const auto limit = read_count(*call, "limit", kDefaultLimit);
  if (!limit.ok()) return call->fail(limit.error());
  auto before = Result<Instant>(latest_instant());
  if (const auto text = call->parameter("before")) before = parse_instant(*text);
  if (!before.ok()) return call->fail({ErrorCode::kMalformed, "before: " + before.error().message});
  api.read(call, [&api, call, limit = static_cast<std::size_t>(*limit), before = *before] {
    if (!find_schedule(api, *call)) return;
    const auto fires = api.parts().schedules.fires(call->arguments[0], before, limit);
    if (!fires.ok()) return call->fail(fires.error());
    std::string json;
    JsonObject object(json);
    append_json_array(object.key("fires"), *fires, append_fire);
    object.end();
    call->answer(200, std::move(json));
  });
}

void answer_preview(const Call& call, const NewSchedule& schedule, Instant after, int count) {
  const auto timetable = Timetable::make(schedule.rules, system_zones());
  if (!timetable.ok()) return call.fail(timetable.error());
  call.answer(200, preview_json(schedule, *timetable, timetable->preview(after, static_cast<std::size_t>(count))));
}

void preview_schedule(Api& api, const CallPtr& call) {
  const auto count = read_count(*call, "count", kDefaultPreview);
  if (!count.ok()) return call->fail(count.error());
  api.read(call, [&api, call, count = *count] {
    const auto schedule = find_schedule(api, *call);
    if (schedule) answer_preview(*call, schedule->definition, schedule->handled_until, count);
  });
}

// Nothing is stored, so this node's clock may say what the future is.
void preview_new_schedule(Api& api, const CallPtr& call) {
  const auto count = read_count(*call, "count", kDefaultPreview);
  if (!count.ok()) return call->fail(count.error());
  const auto schedule = read_schedule(call->arguments[0], call->request.body, system_zones());
  if (!schedule.ok()) return call->fail(schedule.error());
  answer_preview(*call, *schedule, api.parts().clock.wall_now(), *count);
}

// A task beside the calendar: not a fire, so it delays none and is not recorded as one.
void trigger_schedule(Api& api, const CallPtr& call) {
  api.read(call, [&api, call] {
    auto schedule = find_schedule(api, *call);
    if (!schedule) return;
    const Submission submission{.task = std::move(schedule->definition.task),
                                .new_id = api.parts().ids.next(),
                                .allowance = call->principal.allowance};
    const auto outcomes = api.parts().tasks.submit(std::span(&submission, 1));
    if (!outcomes.ok()) return call->fail(outcomes.error());
    const SubmitOutcome& outcome = outcomes->front();
    if (outcome.kind != SubmitOutcome::Kind::kCreated) return call->fail(submit_error(submission, outcome));
    HttpResponse response{.status = 201, .headers = {{"Location", "/v1/tasks/" + to_string(outcome.id)}}};
    append_submitted(response.body, outcome);
    call->answer(std::move(response));
  });
}

std::vector<Route> fire_routes() {
  constexpr std::string_view kAway = "The store is unavailable, or too many reads are waiting";
  const Parameter count = {"count", R"({"type":"integer","minimum":1,"maximum":1000,"default":10})",
                           "How many fires to show."};
  return {
      {.method = "GET",
       .pattern = "/v1/schedules/{schedule}/fires",
       .name = "list_fires",
       .tag = "schedules",
       .summary = "What became of the fires of a schedule, newest first: a task, or why there is none",
       .access = Access::kRead,
       .parameters = {{"before", R"({"type":"string","format":"date-time"})", "Only fires before this time."},
                      {"limit", R"({"type":"integer","minimum":1,"maximum":1000,"default":100})",
                       "Maximum number of records."}},
       .answers = {{200, "The records", "Fires"}, {404, "There is no such schedule"}, {503, kAway}},
       .handle = list_fires},
      {.method = "GET",
       .pattern = "/v1/schedules/{schedule}/preview",
       .name = "preview_schedule",
       .tag = "schedules",
       .summary = "The next fires of a schedule",
       .access = Access::kRead,
       .parameters = {count},
       .answers = {{200, "The fires", "FirePreview"}, {404, "There is no such schedule"}, {503, kAway}},
       .handle = preview_schedule},
      {.method = "POST",
       .pattern = "/v1/schedules/{schedule}/preview",
       .name = "preview_new_schedule",
       .tag = "schedules",
       .summary = "The next fires of a definition, which need not be stored",
       .access = Access::kRead,
       .body = "NewSchedule",
       .parameters = {count},
       .answers = {{200, "The fires", "FirePreview"}, {422, "A value is not allowed"}},
       .handle = preview_new_schedule},
      {.method = "POST",
       .pattern = "/v1/schedules/{schedule}/trigger",
       .name = "trigger_schedule",
       .tag = "schedules",
       .summary = "Submit a task of a schedule now, beside its calendar",
       .access = Access::kSubmit,
       .answers = {{201, "The task", "Submitted"},
                   {404, "There is no such schedule"},
                   {429, "The limit of queues is reached"},
                   {503, kAway}},
       .handle = trigger_schedule},
  };
}

}  // namespace

std::vector<Route> schedule_routes() {
  constexpr std::string_view kAway = "The store is unavailable, or too many reads are waiting";
  const std::vector<Answer> switch_answers = {
      {200, "The schedule", "Schedule"}, {404, "There is no such schedule"}, {503, kAway}};
  std::vector<Route> all = {
      {.method = "GET",
       .pattern = "/v1/schedules",
       .name = "list_schedules",
       .tag = "schedules",
       .summary = "List schedules by name",
       .access = Access::kRead,
       .parameters = {{"after", R"({"type":"string","minLength":1})",
                       "Only names after this one: `next` of the page before."},
                      {"limit", R"({"type":"integer","minimum":1,"maximum":1000,"default":100})",
                       "Maximum number of schedules in a page."}},
       .answers = {{200, "A page of schedules", "Schedules"}, {503, kAway}},
       .handle = list_schedules},
      {.method = "PUT",
       .pattern = "/v1/schedules/{schedule}",
       .name = "put_schedule",
       .tag = "schedules",
       .summary = "Create a schedule or replace its definition; with If-Match only that version of it",
       .access = Access::kSubmit,
       .body = "NewSchedule",
       .answers = {{200, "The schedule, changed or as it was", "Schedule"},
                   {201, "The new schedule", "Schedule"},
                   {409, "The version is not the one in If-Match"},
                   {422, "A value is not allowed"},
                   {429, "The limit of schedules is reached"},
                   {503, kAway}},
       .handle = put_schedule},
      {.method = "GET",
       .pattern = "/v1/schedules/{schedule}",
       .name = "get_schedule",
       .tag = "schedules",
       .summary = "Get a schedule; its version is also the ETag",
       .access = Access::kRead,
       .answers = switch_answers,
       .handle = get_schedule},
      {.method = "DELETE",
       .pattern = "/v1/schedules/{schedule}",
       .name = "delete_schedule",
       .tag = "schedules",
       .summary = "Delete a schedule and the records of its fires; its tasks stay",
       .access = Access::kSubmit,
       .answers = {{204, "The schedule is deleted"}, {404, "There is no such schedule"}, {503, kAway}},
       .handle = delete_schedule},
      {.method = "POST",
       .pattern = "/v1/schedules/{schedule}/pause",
       .name = "pause_schedule",
       .tag = "schedules",
       .summary = "Stop firing until it is resumed; what would fire meanwhile is left out",
       .access = Access::kSubmit,
       .answers = switch_answers,
       .handle = pause_schedule},
      {.method = "POST",
       .pattern = "/v1/schedules/{schedule}/resume",
       .name = "resume_schedule",
       .tag = "schedules",
       .summary = "Fire again, from now on",
       .access = Access::kSubmit,
       .answers = switch_answers,
       .handle = resume_schedule},
  };
  std::ranges::move(fire_routes(), std::back_inserter(all));
  return all;
}

}  // namespace horae
