#include "model/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/duration.h"
#include "base/quote.h"
#include "base/time_text.h"

namespace horae {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr microseconds kTick{1};
constexpr int kIntervalsLookedAt = 100;

Error refused(std::string message) { return {ErrorCode::kRefused, std::move(message)}; }

Result<void> check_range(std::string_view field, Duration value, Duration least, Duration most) {
  if (value >= least && value <= most) return {};
  return refused(fmt::format("{} {}: give {} to {}", field, format_duration(value), format_duration(least),
                             format_duration(most)));
}

// Between fires that follow one another, in UTC: clock changes must not decide whether a schedule is accepted.
Duration shortest_interval(const CronExpression& cron) {
  constexpr auto kEnd = std::chrono::local_days(std::chrono::year(2400) / 1 / 1);
  auto last = first_match(cron, std::chrono::local_days(std::chrono::year(2000) / 1 / 1), kEnd);
  Duration shortest = kMaxEvery;
  for (int i = 0; last && i < kIntervalsLookedAt; ++i) {
    const auto next = first_match(cron, *last + std::chrono::seconds(1), kEnd);
    if (next) shortest = std::min<Duration>(shortest, *next - *last);
    last = next;
  }
  return shortest;
}

Result<void> check_what_fires(const ScheduleRules& rules) {
  if (rules.cron.has_value() == rules.every.has_value()) {
    return refused(rules.cron ? "cron, every: give only one of them" : "cron, every: give one of them");
  }
  if (rules.cron && rules.anchor) return refused("anchor: it belongs to `every`; a cron expression has its own times");
  if (!rules.every) return {};
  if (auto checked = check_range("every", *rules.every, kMinEvery, kMaxEvery); !checked.ok()) return checked;
  if (*rules.every % milliseconds(1) == Duration::zero()) return {};
  return refused(fmt::format("every {}: give whole milliseconds", format_duration(*rules.every)));
}

Result<void> check_limits(const ScheduleRules& rules) {
  if (rules.catch_up < 1 || rules.catch_up > kMaxCatchUp) {
    return refused(fmt::format("catch_up {}: give 1 to {}", rules.catch_up, kMaxCatchUp));
  }
  if (auto checked = check_range("window", rules.window, kOnTime, kMaxWindow); !checked.ok()) return checked;
  if (rules.starts && rules.ends && *rules.ends <= *rules.starts) {
    return refused(
        fmt::format("ends {}: it is not after starts, {}", format_instant(*rules.ends), format_instant(*rules.starts)));
  }
  return {};
}

Result<void> check_jitter(Duration jitter, Duration interval) {
  if (jitter >= Duration::zero() && jitter <= interval) return {};
  return refused(fmt::format("jitter {}: give 0s to {}, the shortest time between two fires", format_duration(jitter),
                             format_duration(interval)));
}

// Whether a fire that was missed is repeated, if `repeated` later ones are. Why not, otherwise.
std::optional<SkipReason> skipped_because(const ScheduleRules& rules, Duration age, std::size_t repeated) {
  if (age <= kOnTime) return std::nullopt;
  switch (rules.missed) {
    case MissedRule::kSkip:
      return SkipReason::kMissed;
    case MissedRule::kLast:
      return repeated == 0 ? std::nullopt : std::optional(SkipReason::kMissed);
    case MissedRule::kAll:
      if (age > rules.window) return SkipReason::kWindow;
      return repeated < static_cast<std::size_t>(rules.catch_up) ? std::nullopt : std::optional(SkipReason::kCatchUp);
  }
  return std::nullopt;
}

// FNV-1a, then the finalizer of SplitMix64, so that times that differ little give shares that differ much.
std::uint64_t hash_of(std::string_view name, Instant at) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash ^= static_cast<std::uint64_t>(at.time_since_epoch().count());
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31U);
}

}  // namespace

Result<Timetable> Timetable::make(const ScheduleRules& rules, const ZoneDatabase& zones) {
  if (auto checked = check_what_fires(rules); !checked.ok()) return checked.error();
  if (auto checked = check_limits(rules); !checked.ok()) return checked.error();
  Timetable table;
  table.starts_ = rules.starts;
  table.ends_ = rules.ends;
  Duration interval;
  if (rules.cron) {
    auto cron = parse_cron(*rules.cron);
    if (!cron.ok()) return cron.error();
    table.calendar_ = CalendarRule{*cron, rules.gap, rules.fold};
    interval = shortest_interval(*cron);
  } else {
    table.every_ = std::chrono::duration_cast<microseconds>(*rules.every);
    table.anchor_ = rules.anchor.value_or(Instant());
    interval = *rules.every;
  }
  auto zone = zones.find(rules.zone);
  if (!zone.ok()) return zone.error();
  table.zone_ = std::move(*zone);
  if (auto checked = check_jitter(rules.jitter, interval); !checked.ok()) return checked.error();
  return table;
}

std::optional<Instant> Timetable::plain_next(Instant after) const {
  if (calendar_) return next_fire(*calendar_, *zone_, after);
  const Instant next = rate_after(after);
  return next > latest_instant() ? std::nullopt : std::optional(next);
}

Instant Timetable::rate_after(Instant after) const {
  const std::int64_t passed = (after - anchor_).count();
  std::int64_t turns = passed / every_.count();
  if (passed % every_.count() < 0) --turns;  // the division rounds towards zero
  return anchor_ + every_ * (turns + 1);
}

std::optional<Instant> Timetable::plain_previous(Instant before) const {
  if (calendar_) return previous_fire(*calendar_, *zone_, before);
  const Instant fire = rate_after(before - kTick) - every_;
  return fire < earliest_instant() ? std::nullopt : std::optional(fire);
}

std::optional<Instant> Timetable::next(Instant after) const {
  const auto fire = plain_next(starts_ ? std::max(after, *starts_ - kTick) : after);
  return fire && ends_ && *fire >= *ends_ ? std::nullopt : fire;
}

std::optional<Instant> Timetable::previous(Instant before) const {
  const auto fire = plain_previous(ends_ ? std::min(before, *ends_) : before);
  return fire && starts_ && *fire < *starts_ ? std::nullopt : fire;
}

std::vector<Instant> Timetable::preview(Instant after, std::size_t count) const {
  std::vector<Instant> fires;
  for (auto fire = next(after); fire && fires.size() < count; fire = next(*fire)) fires.push_back(*fire);
  return fires;
}

std::int64_t Timetable::count(Instant first, Instant last, std::int64_t most) const {
  std::int64_t found = 0;
  for (auto fire = next(first - kTick); fire && *fire <= last && found < most; fire = next(*fire)) ++found;
  return found;
}

std::string Timetable::in_words() const {
  std::string words = calendar_ ? fmt::format("{}, {}", horae::in_words(calendar_->cron), zone_->name())
                                : fmt::format("every {} from {}", format_duration(every_), format_instant(anchor_));
  if (starts_) words += ", not before " + format_instant(*starts_);
  if (ends_) words += ", before " + format_instant(*ends_);
  return words;
}

std::string_view to_string(SkipReason reason) {
  static constexpr std::array<std::string_view, 5> kNames = {"missed", "catch_up", "window", "overlap", "queue_limit"};
  return kNames.at(static_cast<std::size_t>(reason));
}

Overlapping judge_overlap(OverlapRule rule, std::size_t fires, bool previous_is_live) {
  if (fires == 0) return {};
  switch (rule) {
    case OverlapRule::kAllow:
      return {0, fires, false};
    case OverlapRule::kSkip:  // the task of the first is live when the second is due
      return {0, previous_is_live ? 0U : 1U, false};
    case OverlapRule::kCancelPrevious:  // each but the last would be cancelled at once
      return {fires - 1, 1, previous_is_live};
  }
  return {};
}

Instant run_time(std::string_view name, Instant at, Duration jitter) {
  const auto range = std::chrono::duration_cast<microseconds>(jitter).count();
  if (range <= 0) return at;
  return at + microseconds(static_cast<std::int64_t>(hash_of(name, at) % static_cast<std::uint64_t>(range)));
}

FirePlan plan_fires(std::string_view name, const ScheduleRules& rules, const Timetable& timetable, Instant next_at,
                    Instant now) {
  FirePlan plan{.next_at = timetable.next(std::max(now, next_at - kTick))};
  // Backwards from the newest: once one is skipped, all before it are.
  auto fire = timetable.previous(now + kTick);
  std::size_t missed = 0;
  for (; fire && *fire >= next_at; fire = timetable.previous(*fire)) {
    const Duration age = now - *fire;
    const std::size_t repeated = rules.missed == MissedRule::kLast ? plan.fires.size() : missed;
    if (const auto reason = skipped_because(rules, age, repeated)) {
      const Instant first = timetable.next(next_at - kTick).value_or(*fire);
      plan.skipped = SkippedFires{first, *fire, timetable.count(first, *fire, kMaxCounted), *reason};
      break;
    }
    if (age > kOnTime) ++missed;
    plan.fires.push_back({*fire, run_time(name, *fire, rules.jitter)});
  }
  std::ranges::reverse(plan.fires);
  return plan;
}

Result<void> check_schedule_name(std::string_view name) {
  if (name.size() <= kMaxScheduleNameLength && check_queue_name(name).ok()) return {};
  return refused(
      fmt::format("name {}: give 1 to {} letters, digits, '.', '_' or '-'", quote(name), kMaxScheduleNameLength));
}

Result<void> check_new_schedule(const NewSchedule& schedule, const ZoneDatabase& zones) {
  if (auto checked = check_schedule_name(schedule.name); !checked.ok()) return checked;
  if (schedule.task.id) return refused("id: each fire makes a task with an id of its own");
  if (schedule.task.key)
    return refused("key: each fire makes a task of its own; overlap says what happens if it is late");
  if (schedule.task.run_at) return refused("run_at: the schedule decides when its tasks run; use starts");
  if (schedule.task.recurring) return refused("recurring: the schedule makes a task for each fire; use every");
  if (auto checked = check_new_task(schedule.task); !checked.ok()) return checked;
  if (auto table = Timetable::make(schedule.rules, zones); !table.ok()) return table.error();
  return {};
}

}  // namespace horae
