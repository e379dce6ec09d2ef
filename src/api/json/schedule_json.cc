#include "api/json/schedule_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "api/json/task_fields.h"
#include "model/schedule_text.h"

namespace horae {
namespace {

struct AsRule {
  template <typename Rule>
  static void write(JsonObject& object, std::string_view name, Rule rule) {
    object.add(name, to_string(rule));
  }
  template <typename Rule>
  static void read(FieldReader& reader, std::string_view name, Rule& to) {
    const auto text = reader.text(name);
    if (!text) return;
    const auto rule = parse_rule<Rule>(*text);
    if (!rule) return reader.fail_text(name, *text, allowed<Rule>());
    to = *rule;
  }

 private:
  template <typename Rule>
  static std::string allowed() {
    std::string all = "give ";
    for (int i = 0; i < 3 && !to_string(static_cast<Rule>(i)).empty(); ++i) {
      if (i > 0) all += " or ";
      all += to_string(static_cast<Rule>(i));
    }
    return all;
  }
};

constexpr std::array kRows = {
    field<&ScheduleRules::cron>(
        "cron",
        R"({"type":"string","maxLength":256,"description":"Five fields, or six with the second first; either this or every"})"),
    field<&ScheduleRules::zone>("zone", R"({"type":"string","default":"UTC","description":"Of cron: Europe/Berlin"})"),
    field<&ScheduleRules::every>(
        "every",
        R"({"$ref":"#/components/schemas/Duration","description":"A fixed rate, 1s at least","examples":["90s"]})"),
    field<&ScheduleRules::anchor>(
        "anchor",
        R"({"type":"string","format":"date-time","description":"Of every: one of its fires; 1970-01-01T00:00:00Z by default"})"),
    field<&ScheduleRules::gap, AsRule>(
        "gap", R"({"enum":["next","skip"],"default":"next","description":"Of times that the clock skips"})"),
    field<&ScheduleRules::fold, AsRule>(
        "fold",
        R"({"enum":["first","second","both"],"default":"first","description":"Of times that the clock shows twice"})"),
    field<&ScheduleRules::jitter>("jitter", R"({"$ref":"#/components/schemas/Duration","default":"0s"})"),
    field<&ScheduleRules::missed, AsRule>(
        "missed",
        R"({"enum":["last","all","skip"],"default":"last","description":"Of fires more than 10s ago that no node was there for"})"),
    field<&ScheduleRules::catch_up>("catch_up", R"({"type":"integer","minimum":1,"maximum":1000,"default":100})"),
    field<&ScheduleRules::window>("window", R"({"$ref":"#/components/schemas/Duration","default":"24h"})"),
    field<&ScheduleRules::overlap, AsRule>(
        "overlap",
        R"({"enum":["skip","allow","cancel_previous"],"default":"skip","description":"While the task of the fire before has not ended"})"),
    field<&ScheduleRules::starts>("starts", schema::kTime),
    field<&ScheduleRules::ends>("ends", schema::kTime),
};
static_assert(kRows.size() == member_count<ScheduleRules>(), "a member of ScheduleRules has no row");
constexpr auto kNames = names_of(kRows);

Result<void> check_not_reserved(std::string_view queue) {
  if (!queue.starts_with(kReservedPrefix)) return {};
  return Error{
      ErrorCode::kRefused,
      fmt::format("queue {}: names that begin with {} belong to Horae; choose another name", queue, kReservedPrefix)};
}

void append_template(std::string& out, const NewTask& task) {
  JsonObject object(out);
  object.add("queue", task.queue);
  object.add("priority", task.priority);
  object.add_json("spec", task.spec);
  object.add("max_attempts", task.max_attempts);
  JsonObject retry(object.key("retry"));
  kRetryFields.write(retry, task.retry);
  retry.end();
  object.end();
}

// A node works the stored date out a moment after a change.
std::optional<Instant> next_fire_of(const Schedule& schedule, const Timetable& timetable) {
  if (schedule.definition.paused) return std::nullopt;
  return schedule.tzdata.empty() ? timetable.next(schedule.handled_until) : schedule.next_at;
}

}  // namespace

constinit const FieldTable<ScheduleRules> kScheduleRulesFields = {kRows, kNames};

Result<NewSchedule> read_schedule(std::string name, std::string_view body, const ZoneDatabase& zones) {
  std::vector<std::string_view> names = {"task", "paused"};
  std::ranges::copy(kNames, std::back_inserter(names));
  FieldReader reader(body, names);
  reader.require("task");
  NewSchedule schedule{.name = std::move(name), .task = {}, .rules = {}};
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (reader.has(i + 2)) kRows[i].read(reader, kRows[i].name, schedule.rules);
  }
  schedule.paused = reader.boolean("paused").value_or(false);
  if (const auto json = reader.present_json("task")) {
    auto task = kNewTaskFields.read(*json, "task.");
    if (!task.ok()) return task.error();
    schedule.task = std::move(*task);
  }
  if (reader.fault()) return *reader.fault();
  if (auto checked = check_not_reserved(schedule.task.queue); !checked.ok()) return checked.error();
  if (auto checked = check_new_schedule(schedule, zones); !checked.ok()) return checked.error();
  return schedule;
}

void append_schedule(std::string& out, const Schedule& schedule, const ZoneDatabase& zones) {
  const auto timetable = Timetable::make(schedule.definition.rules, zones);
  JsonObject object(out);
  object.add("name", schedule.definition.name);
  object.add("version", schedule.version);
  append_template(object.key("task"), schedule.definition.task);
  kScheduleRulesFields.write(object, schedule.definition.rules);
  object.add("paused", schedule.definition.paused);
  // Of one from a node with a newer time zone database, this node can only say why it does not understand it.
  object.add("words", timetable.ok() ? timetable->in_words() : timetable.error().message);
  object.add("created_at", schedule.created_at);
  object.add("updated_at", schedule.updated_at);
  object.add("next_at", timetable.ok() ? next_fire_of(schedule, *timetable) : std::nullopt);
  object.add("last_task", schedule.last_task);
  object.end();
}

void append_fire(std::string& out, const FireRecord& fire) {
  JsonObject object(out);
  object.add("at", fire.at);
  object.add("last", fire.last);
  object.add("count", fire.count);
  object.add("task", fire.task);
  object.add("skipped", fire.skipped ? std::optional(to_string(*fire.skipped)) : std::nullopt);
  object.end();
}

std::string preview_json(const NewSchedule& schedule, const Timetable& timetable, const std::vector<Instant>& fires) {
  std::string json;
  JsonObject object(json);
  object.add("words", timetable.in_words());
  append_json_array(object.key("fires"), fires, [&](std::string& out, Instant at) {
    JsonObject fire(out);
    fire.add("at", at);
    fire.add("run_at", run_time(schedule.name, at, schedule.rules.jitter));
    fire.end();
  });
  object.end();
  return json;
}

}  // namespace horae
