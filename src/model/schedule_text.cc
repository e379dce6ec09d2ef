#include "model/schedule_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <functional>
#include <map>

#include "base/duration.h"
#include "base/member_count.h"
#include "base/quote.h"
#include "base/time_text.h"

namespace horae {
namespace {

static_assert(member_count<ScheduleRules>() == 13, "a new member is also written and read here");
static_assert(member_count<NewSchedule>() == 6, "a new member is also written and read here");
static_assert(member_count<NewTask>() == 9, "a new member is also written and read here");

using Names = std::array<std::string_view, 3>;
constexpr Names kGapNames = {"next", "skip", ""};
constexpr Names kFoldNames = {"first", "second", "both"};
constexpr Names kMissedNames = {"last", "all", "skip"};
constexpr Names kOverlapNames = {"skip", "allow", "cancel_previous"};
constexpr Names kRetryNames = {"none", "fixed", "exponential"};

// Sets a part of a schedule; false if the text is not a value of it.
using Reader = std::function<bool(NewSchedule&, std::string_view)>;

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

template <typename Value, typename Parsed>
bool take(Value& value, const Parsed& parsed) {
  if (parsed.ok()) value = *parsed;
  return parsed.ok();
}

template <typename Rule>
bool take_rule(Rule& rule, std::string_view name) {
  const auto parsed = parse_rule<Rule>(name);
  if (parsed) rule = *parsed;
  return parsed.has_value();
}

bool read_retry_kind(NewSchedule& schedule, std::string_view text) {
  for (std::size_t i = 0; i < kRetryNames.size(); ++i) {
    if (kRetryNames.at(i) != text) continue;
    schedule.task.retry.kind = static_cast<RetryPolicy::Kind>(i);
    return true;
  }
  return false;
}

const std::map<std::string_view, Reader>& readers() {
  using S = NewSchedule;
  using V = std::string_view;
  static const std::map<std::string_view, Reader> kReaders = {
      {"cron", [](S& s, V v) { return s.rules.cron = std::string(v), true; }},
      {"zone", [](S& s, V v) { return s.rules.zone = std::string(v), true; }},
      {"every", [](S& s, V v) { return take(s.rules.every, parse_duration(v)); }},
      {"anchor", [](S& s, V v) { return take(s.rules.anchor, parse_instant(v)); }},
      {"gap", [](S& s, V v) { return take_rule(s.rules.gap, v); }},
      {"fold", [](S& s, V v) { return take_rule(s.rules.fold, v); }},
      {"jitter", [](S& s, V v) { return take(s.rules.jitter, parse_duration(v)); }},
      {"missed", [](S& s, V v) { return take_rule(s.rules.missed, v); }},
      {"catch_up", [](S& s, V v) { return read_number(v, s.rules.catch_up); }},
      {"window", [](S& s, V v) { return take(s.rules.window, parse_duration(v)); }},
      {"overlap", [](S& s, V v) { return take_rule(s.rules.overlap, v); }},
      {"starts", [](S& s, V v) { return take(s.rules.starts, parse_instant(v)); }},
      {"ends", [](S& s, V v) { return take(s.rules.ends, parse_instant(v)); }},
      {"maker", [](S& s, V v) { return s.maker = std::string(v), true; }},
      {"maker_queues", [](S& s, V v) { return read_number(v, s.maker_queues); }},
      {"queue", [](S& s, V v) { return s.task.queue = std::string(v), true; }},
      {"priority", [](S& s, V v) { return read_number(v, s.task.priority); }},
      {"max_attempts", [](S& s, V v) { return read_number(v, s.task.max_attempts); }},
      {"retry", read_retry_kind},
      {"retry_delay", [](S& s, V v) { return take(s.task.retry.delay, parse_duration(v)); }},
      {"retry_factor", [](S& s, V v) { return read_number(v, s.task.retry.factor); }},
      {"retry_cap", [](S& s, V v) { return take(s.task.retry.cap, parse_duration(v)); }},
      {"retry_jitter", [](S& s, V v) { return read_number(v, s.task.retry.jitter); }},
  };
  return kReaders;
}

Error unreadable(std::string_view name, std::string_view line) {
  return {ErrorCode::kInternal,
          fmt::format("schedule {}: the store has a line that cannot be read: {}; it was written by "
                      "another version of Horae, or the database is damaged",
                      quote(name), quote(line))};
}

}  // namespace

std::string_view to_string(GapRule rule) { return kGapNames.at(static_cast<std::size_t>(rule)); }
std::string_view to_string(FoldRule rule) { return kFoldNames.at(static_cast<std::size_t>(rule)); }
std::string_view to_string(MissedRule rule) { return kMissedNames.at(static_cast<std::size_t>(rule)); }
std::string_view to_string(OverlapRule rule) { return kOverlapNames.at(static_cast<std::size_t>(rule)); }

// One line for each part, "name value". The spec is the rest, byte for byte.
std::string to_text(const NewSchedule& schedule) {
  std::string text;
  const auto line = [&text](std::string_view name, const auto& value) { text += fmt::format("{} {}\n", name, value); };
  const ScheduleRules& rules = schedule.rules;
  if (rules.cron) line("cron", *rules.cron);
  line("zone", rules.zone);
  if (rules.every) line("every", format_duration(*rules.every));
  if (rules.anchor) line("anchor", format_instant(*rules.anchor));
  line("gap", to_string(rules.gap));
  line("fold", to_string(rules.fold));
  line("jitter", format_duration(rules.jitter));
  line("missed", to_string(rules.missed));
  line("catch_up", rules.catch_up);
  line("window", format_duration(rules.window));
  line("overlap", to_string(rules.overlap));
  if (rules.starts) line("starts", format_instant(*rules.starts));
  if (rules.ends) line("ends", format_instant(*rules.ends));
  if (schedule.maker) {
    line("maker", *schedule.maker);
    line("maker_queues", schedule.maker_queues);
  }
  const NewTask& task = schedule.task;
  line("queue", task.queue);
  line("priority", task.priority);
  line("max_attempts", task.max_attempts);
  line("retry", kRetryNames.at(static_cast<std::size_t>(task.retry.kind)));
  line("retry_delay", format_duration(task.retry.delay));
  line("retry_factor", task.retry.factor);
  line("retry_cap", format_duration(task.retry.cap));
  line("retry_jitter", task.retry.jitter);
  return text + "spec " + task.spec;
}

Result<NewSchedule> schedule_of(std::string name, bool paused, std::string_view text) {
  NewSchedule schedule{.name = std::move(name), .task = {}, .rules = {}, .paused = paused};
  for (;;) {
    const std::string_view part = text.substr(0, text.find(' '));
    if (part == "spec") {
      schedule.task.spec = text.substr(std::min(part.size() + 1, text.size()));
      return schedule;
    }
    const std::size_t end = text.find('\n');
    const auto reader = readers().find(part);
    if (end == std::string_view::npos || part.size() >= end || reader == readers().end()) break;
    if (!reader->second(schedule, text.substr(part.size() + 1, end - part.size() - 1))) break;
    text.remove_prefix(end + 1);
  }
  return unreadable(schedule.name, text.substr(0, text.find('\n')));
}

}  // namespace horae
