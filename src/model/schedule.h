// Schedules: which fires a calendar has, and which of those that are due become tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/zone/zone.h"
#include "model/fires.h"
#include "model/task.h"

namespace horae {

inline constexpr std::size_t kMaxScheduleNameLength = 128;
inline constexpr Duration kMinEvery = std::chrono::seconds(1);
inline constexpr Duration kMaxEvery = kMaxRecurring;
inline constexpr Duration kMaxWindow = std::chrono::hours(24 * 366);
inline constexpr int kMaxCatchUp = 1'000;
inline constexpr std::size_t kMaxPreview = 1'000;

// A fire that is no later than this is late, not missed: a node that was busy, or that starts again.
inline constexpr Duration kOnTime = std::chrono::seconds(10);

enum class MissedRule { kLast, kAll, kSkip };
enum class OverlapRule { kSkip, kAllow, kCancelPrevious };

struct ScheduleRules {
  std::optional<std::string> cron;  // either this, in `zone`, ...
  std::string zone = "UTC";
  std::optional<Duration> every;  // ... or a fixed rate: at `anchor` plus all multiples of this
  std::optional<Instant> anchor;  // 1970-01-01T00:00:00Z if absent
  GapRule gap = GapRule::kNext;
  FoldRule fold = FoldRule::kFirst;
  Duration jitter{};  // a task may run up to this later; each fire has its own share, the same on every node
  MissedRule missed = MissedRule::kLast;     // of fires that no node was there for
  int catch_up = 100;                        // missed all: how many fires at most, ...
  Duration window = std::chrono::hours(24);  // ... and how old
  OverlapRule overlap = OverlapRule::kSkip;  // while the task of the fire before has not ended
  std::optional<Instant> starts;             // the first moment that may fire
  std::optional<Instant> ends;               // the first moment that may not

  friend bool operator==(const ScheduleRules&, const ScheduleRules&) = default;
};

// All fires of a schedule, past and future. Ready to use from several threads.
class Timetable {
 public:
  // Checks the rules as a whole. The error names the field: kMalformed for a cron expression that cannot be read,
  // kRefused for everything else.
  static Result<Timetable> make(const ScheduleRules& rules, const ZoneDatabase& zones);

  std::optional<Instant> next(Instant after) const;
  std::optional<Instant> previous(Instant before) const;

  // The first `count` fires after `after`: fewer if there are no more.
  std::vector<Instant> preview(Instant after, std::size_t count) const;

  // How many fires there are from `first` to `last`, both included; `most` if there are more.
  std::int64_t count(Instant first, Instant last, std::int64_t most) const;

  // When it fires, in words: "at 02:30 on Monday, Europe/Berlin".
  std::string in_words() const;

 private:
  Timetable() = default;

  std::optional<Instant> plain_next(Instant after) const;
  std::optional<Instant> plain_previous(Instant before) const;
  Instant rate_after(Instant after) const;  // of a fixed rate

  std::optional<CalendarRule> calendar_;
  std::shared_ptr<const Zone> zone_;
  std::chrono::microseconds every_{};
  Instant anchor_;
  std::optional<Instant> starts_;
  std::optional<Instant> ends_;
};

enum class SkipReason {
  kMissed,      // nobody was there, and the rule for missed fires does not repeat it
  kCatchUp,     // nobody was there, and there were more than catch_up
  kWindow,      // nobody was there, and it is older than the window
  kOverlap,     // the task of the fire before had not ended
  kQueueLimit,  // its queue is new, and there are as many as there may be
};

std::string_view to_string(SkipReason reason);

struct Fire {
  Instant at;      // the nominal time: its key
  Instant run_at;  // with jitter

  friend bool operator==(const Fire&, const Fire&) = default;
};

// Fires that follow one another and become no task. Of very many, no more than kMaxCounted are counted.
struct SkippedFires {
  Instant first;
  Instant last;
  std::int64_t count = 0;
  SkipReason reason = SkipReason::kMissed;

  friend bool operator==(const SkippedFires&, const SkippedFires&) = default;
};
inline constexpr std::int64_t kMaxCounted = 10'000;

// What becomes of the fires that are due: each is either among `fires` or within `skipped`.
struct FirePlan {
  std::vector<Fire> fires;              // oldest first
  std::optional<SkippedFires> skipped;  // all before the fires
  std::optional<Instant> next_at;       // the first fire after now; nothing if there is none

  friend bool operator==(const FirePlan&, const FirePlan&) = default;
};

// Plans the fires from `next_at` (the first that nothing has become of yet) up to `now`, the store's clock. The same on
// every node. Whether the previous task has ended is not known here: the store judges that.
FirePlan plan_fires(std::string_view name, const ScheduleRules& rules, const Timetable& timetable, Instant next_at,
                    Instant now);

// Which of several fires that are planned together become tasks, by the rule for overlaps: all but these are skipped for it.
// `previous_is_live`: the task of the fire before them has not ended.
struct Overlapping {
  std::size_t first = 0;  // of the planned fires, the first that becomes a task ...
  std::size_t count = 0;  // ... and how many do
  bool cancels_previous = false;
};
Overlapping judge_overlap(OverlapRule rule, std::size_t fires, bool previous_is_live);

// When the task of a fire may run: a share of the jitter later, which the name and the time decide.
Instant run_time(std::string_view name, Instant at, Duration jitter);

// A schedule as a client defines it.
struct NewSchedule {
  std::string name;
  NewTask task;  // of each fire: without id, key, run_at and recurring
  ScheduleRules rules;
  bool paused = false;

  // The token on whose account a fire makes the queue of its task, if that does not exist, and how many queues it may
  // make. Nothing: on nobody's.
  std::optional<std::string> maker = std::nullopt;
  std::int64_t maker_queues = 0;

  friend bool operator==(const NewSchedule&, const NewSchedule&) = default;
};

// Letters, digits, '.', '_' and '-', 1 to kMaxScheduleNameLength of them.
Result<void> check_schedule_name(std::string_view name);

// Checks all of a schedule but the syntax of the spec. The error names the field.
Result<void> check_new_schedule(const NewSchedule& schedule, const ZoneDatabase& zones);

}  // namespace horae
