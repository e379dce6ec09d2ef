#include "agent/worker/worker.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.h"
#include "sdk/worker_wire.h"
#include "store/submission.h"

namespace horae::agent {
namespace {

constexpr Duration kIdle = std::chrono::minutes(1);
constexpr Duration kRefusedPause = std::chrono::seconds(5);  // after a claim that a node refuses
constexpr Duration kFullDiskPause = std::chrono::seconds(1);
constexpr Duration kAnswerTime = std::chrono::seconds(10);  // for an answer beyond the wait that was asked for
constexpr int kClaimTriesOfADrain = 3;
constexpr std::size_t kMaxSeen = 20'000;

}  // namespace

Worker::Worker(WorkerOptions options, std::string owner, Parts parts)
    : options_(std::move(options)),
      owner_(std::move(owner)),
      parts_(std::move(parts)),
      claim_backoff_(parts_.random),
      report_backoff_(parts_.random) {
  if (HORAE_MUTANT("journal_not_replayed")) return;
  for (const auto& [key, settlement] : parts_.journal.open_attempts()) {
    endings_.push_back({.key = key, .settlement = settlement ? *settlement : give_up_json(key), .is_in_journal = true});
  }
  unsettled_ = endings_.size();
}

Settlement Worker::settlement_of(const LeasedTask& task, Event event) const {
  return {.event = event, .id = task.id, .number = task.number, .attempt = task.attempt, .owner = owner_};
}

// The shortest lease: the monitor expires it at once, and counts a try.
std::string Worker::give_up_json(const AttemptKey& key) const {
  return settlement_json(
      {.event = Event::kHeartbeat, .id = key.id, .attempt = key.attempt, .owner = key.owner, .lease = kMinLease});
}

bool Worker::write(std::span<const JournalRecord> records) {
  const std::lock_guard lock(journal_mutex_);
  const auto written = parts_.journal.append(records);
  if (!written.ok() && !is_journal_full_) {
    parts_.log.error("the journal cannot be written; no tasks are claimed until it can",
                     {{"reason", written.error().message}});
  } else if (written.ok() && is_journal_full_) {
    parts_.log.info("the journal can be written again");
  }
  is_journal_full_ = !written.ok();
  return written.ok();
}

// ---- Claims ----

// Ends that cannot be reported take places too, once there are many of them.
int Worker::free_places() const {
  const auto slots = static_cast<std::size_t>(options_.slots);
  const std::size_t taken = held_.size() + (unsettled_ > slots ? unsettled_ - slots : 0);
  return taken >= slots ? 0 : static_cast<int>(slots - taken);
}

bool Worker::can_journal() {
  if (!is_journal_full_) return true;
  const std::vector<JournalRecord> probe = {{.kind = JournalRecord::Kind::kOver, .key = {.owner = owner_, .id = {}}}};
  return write(probe);
}

MonotonicTime Worker::claim_once(MonotonicTime now) {
  bool is_draining = false;
  int free = 0;
  {
    const std::lock_guard lock(mutex_);
    is_draining = drains_since_.has_value();
    free = free_places();
    // The tasks of a claim whose answer was lost are asked for under its token, and released.
    if (is_draining && (!claim_ || claim_tries_ >= kClaimTriesOfADrain)) claims_have_ended_ = true;
    if (claims_have_ended_) {
      parts_.wake_reports();
      return now + kIdle;
    }
  }
  if (!claim_ && free == 0) return now + kIdle;
  if (!can_journal()) return now + kFullDiskPause;
  if (!claim_) {
    claim_ = ClaimWish{.owner = owner_,
                       .queues = options_.queues,
                       .max = std::min(free, static_cast<int>(kMaxBatch)),
                       .token = parts_.ids.next(),
                       .lease = options_.lease,
                       .once = true};
    claim_tries_ = 0;
  }
  ++claim_tries_;
  const Duration wait = is_draining ? Duration::zero() : options_.wait;
  const auto body = parts_.claims.post("/v1/exchange", claim_json(*claim_, wait), wait + kAnswerTime);
  auto answer = body.ok() ? read_claim_answer(*body) : Result<ClaimAnswer>(body.error());
  if (!answer.ok()) {
    const bool is_unknown = answer.error().code == ErrorCode::kUnavailable;
    if (is_unknown) {
      parts_.log.warn("no node has answered a claim", {{"reason", answer.error().message}});
    } else {
      parts_.log.error("a claim is refused", {{"reason", answer.error().message}});
      claim_.reset();
    }
    return parts_.clock.now() + (is_unknown ? claim_backoff_.next() : kRefusedPause);
  }
  claim_backoff_.reset();
  claim_.reset();
  take(std::move(*answer));
  return now;  // at once again: the node does the waiting
}

std::vector<LeasedTask> Worker::new_among(std::vector<LeasedTask> tasks) {
  const std::lock_guard lock(mutex_);
  std::vector<LeasedTask> fresh;
  for (LeasedTask& task : tasks) {
    const std::pair key(task.id, task.attempt);
    if (!seen_.insert(key).second && !HORAE_MUTANT("attempt_started_twice")) continue;
    seen_in_order_.push_back(key);
    fresh.push_back(std::move(task));
  }
  for (; seen_in_order_.size() > kMaxSeen; seen_in_order_.pop_front()) seen_.erase(seen_in_order_.front());
  return fresh;
}

void Worker::take(ClaimAnswer answer) {
  for (const LeasedAttempt& attempt : answer.rest)
    release({.owner = owner_, .id = attempt.id, .attempt = attempt.attempt});
  if (answer.attention) {
    const std::lock_guard lock(mutex_);
    for (auto& [run, held] : held_) held.next_beat = MonotonicTime{};
  }
  if (answer.attention) parts_.wake_reports();
  std::vector<LeasedTask> tasks = new_among(std::move(answer.tasks));
  bool is_draining = false;
  {
    const std::lock_guard lock(mutex_);
    is_draining = drains_since_.has_value();
  }
  std::vector<JournalRecord> starts;
  for (const LeasedTask& task : tasks) starts.push_back({.kind = JournalRecord::Kind::kStart, .key = key_of(task)});
  const bool may_start = !is_draining && write(starts);
  for (LeasedTask& task : tasks) {
    if (may_start) {
      start(std::move(task));
    } else {
      release(key_of(task));
    }
  }
}

void Worker::release(const AttemptKey& key) {
  const Settlement settlement{.event = Event::kRelease, .id = key.id, .attempt = key.attempt, .owner = key.owner};
  {
    const std::lock_guard lock(mutex_);
    endings_.push_back({.key = key, .settlement = settlement_json(settlement), .is_in_journal = true});
    ++unsettled_;
  }
  parts_.wake_reports();
}

void Worker::start(LeasedTask task) {
  const MonotonicTime now = parts_.clock.now();
  ChoreId run = 0;
  {
    const std::lock_guard lock(mutex_);
    run = ++last_run_;
    held_.emplace(run, Held{.task = task, .next_beat = now + options_.lease / 3});
  }
  parts_.wake_reports();  // it beats from now on
  parts_.log.debug("run starts", {{kTaskField.data(), to_string(task.id)}, {"attempt", task.attempt}});
  parts_.executor.start(run, task, now, [this, run](RunEnd end) { on_end(run, std::move(end)); });
}

void Worker::on_end(ChoreId run, RunEnd end) {
  {
    const std::lock_guard lock(mutex_);
    auto held = held_.extract(run);
    if (held.empty()) return;
    endings_.push_back(ending_of(std::move(held.mapped()), std::move(end)));
    ++unsettled_;
  }
  parts_.wake_reports();
  parts_.wake_claims();
}

Worker::Ending Worker::ending_of(Held held, RunEnd end) const {
  Ending ending{.key = key_of(held.task), .settlement = {}};
  // A result that comes too late is refused, and kept in the task's history.
  if (held.is_lost && end.kind != RunEnd::Kind::kDone) return ending;
  Settlement settlement = settlement_of(held.task, Event::kComplete);
  switch (end.kind) {
    case RunEnd::Kind::kDone:
      settlement.result = std::move(end.result);
      break;
    case RunEnd::Kind::kFailed:
      settlement.event = Event::kAbort;
      settlement.errors = std::move(end.errors);
      break;
    case RunEnd::Kind::kStopped:
      if (!held.is_stopped) {  // the executor has lost it
        ending.settlement = give_up_json(ending.key);
        ending.is_in_journal = true;
        return ending;
      }
      settlement.event = Event::kYield;
      settlement.progress = end.last.progress ? end.last.progress : held.progress;
      settlement.checkpoint = end.last.checkpoint ? std::move(end.last.checkpoint) : std::move(held.checkpoint);
      break;
  }
  ending.settlement = settlement_json(settlement);
  return ending;
}

void Worker::drain() {
  {
    const std::lock_guard lock(mutex_);
    if (drains_since_) return;
    drains_since_ = parts_.clock.now();
  }
  parts_.wake_claims();
  parts_.wake_reports();
}

}  // namespace horae::agent
