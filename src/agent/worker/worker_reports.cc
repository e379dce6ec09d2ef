// Heartbeats, ends and the exit of a worker.

#include <fmt/format.h>

#include <algorithm>

#include "agent/worker/worker.h"
#include "base/mutant.h"
#include "sdk/worker_wire.h"

namespace horae::agent {
namespace {

constexpr Duration kIdle = std::chrono::minutes(1);
constexpr std::size_t kMaxItems = 500;                     // of one call
constexpr std::size_t kMaxBytes = std::size_t{512} << 10;  // of one call, which may hold one larger item
constexpr Duration kShortestTry = std::chrono::seconds(1);
constexpr Duration kLongestTry = std::chrono::seconds(5);

}  // namespace

MonotonicTime Worker::report_once(MonotonicTime now) {
  collect_endings();
  stop_runs_when_due(now);
  const std::vector<Beat> beats = due_beats(now);
  std::size_t endings = 0;
  std::size_t bytes = 0;
  while (endings < sending_.size() && endings < kMaxItems && bytes < kMaxBytes) {
    bytes += sending_[endings++].settlement.size();
  }
  const bool has_sent = (beats.empty() && endings == 0) || send(beats, endings);
  now = parts_.clock.now();
  if (has_exited(now)) return now + kIdle;
  if (!has_sent) return now + report_backoff_.next();
  report_backoff_.reset();
  return sending_.empty() ? next_report(now) : now;
}

// Moves new ends to what is sent. They are in the journal before; if the disk is full, they are sent all the same.
void Worker::collect_endings() {
  std::vector<Ending> fresh;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(endings_);
  }
  std::vector<JournalRecord> records;
  std::size_t over = 0;
  for (const Ending& ending : fresh) {
    if (ending.settlement.empty()) {
      records.push_back({.kind = JournalRecord::Kind::kOver, .key = ending.key});
      ++over;
    } else if (!ending.is_in_journal) {
      records.push_back({.kind = JournalRecord::Kind::kEnd, .key = ending.key, .settlement = ending.settlement});
    }
  }
  if (!records.empty()) (void)write(records);
  for (Ending& ending : fresh) {
    if (!ending.settlement.empty()) sending_.push_back(std::move(ending));
  }
  const std::lock_guard lock(mutex_);
  unsettled_ -= over;
}

std::vector<Worker::Beat> Worker::due_beats(MonotonicTime now) {
  std::vector<ChoreId> due;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [run, held] : held_) {
      // What is due soon goes along.
      if (!held.is_lost && held.next_beat <= now + options_.lease / 12 && due.size() < kMaxItems) due.push_back(run);
    }
    const bool is_any_due = std::ranges::any_of(due, [&](ChoreId run) { return held_.at(run).next_beat <= now; });
    if (!is_any_due) return {};
  }
  std::vector<Beat> beats;
  std::size_t bytes = 0;
  for (const ChoreId run : due) {
    RunProgress progress = parts_.executor.progress(run, now);
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(run);
    if (found == held_.end()) continue;  // it has ended just now
    Held& held = found->second;
    if (progress.progress) held.progress = progress.progress;
    if (progress.checkpoint) held.checkpoint = std::move(progress.checkpoint);
    if (bytes > kMaxBytes) continue;
    Settlement settlement = settlement_of(held.task, Event::kHeartbeat);
    settlement.lease = options_.lease;
    settlement.progress = held.progress;
    settlement.checkpoint = held.checkpoint;
    beats.push_back({.run = run, .settlement = settlement_json(settlement), .checkpoint = held.checkpoint});
    bytes += beats.back().settlement.size();
    held.next_beat = now + options_.lease / 3;
  }
  return beats;
}

// False if no node has answered.
bool Worker::send(const std::vector<Beat>& beats, std::size_t endings) {
  std::vector<std::string> settlements;
  for (std::size_t i = 0; i < endings; ++i) settlements.push_back(sending_[i].settlement);
  for (const Beat& beat : beats) settlements.push_back(beat.settlement);
  const Duration timeout = std::clamp<Duration>(options_.lease / 3, kShortestTry, kLongestTry);
  const auto body = parts_.reports.post("/v1/settle", settle_json(settlements), timeout);
  const auto answers =
      body.ok() ? read_settle_answer(*body, settlements.size()) : Result<std::vector<SettleAnswer>>(body.error());
  if (!answers.ok()) {
    parts_.log.warn("no node has taken a report",
                    {{"ends", endings}, {"heartbeats", beats.size()}, {"reason", answers.error().message}});
    const std::lock_guard lock(mutex_);
    for (const Beat& beat : beats) {  // the next try carries them again
      const auto found = held_.find(beat.run);
      if (found != held_.end()) found->second.next_beat = MonotonicTime{};
    }
    return false;
  }
  for (std::size_t i = 0; i < beats.size(); ++i) note_beat(beats[i], (*answers)[endings + i]);
  std::vector<JournalRecord> over;
  std::vector<Ending> again;
  for (std::size_t i = 0; i < endings; ++i) {
    Ending ending = std::move(sending_.front());
    sending_.pop_front();
    if (note_ending(ending, (*answers)[i])) {
      over.push_back({.kind = JournalRecord::Kind::kOver, .key = ending.key});
    } else {
      again.push_back(std::move(ending));
    }
  }
  for (Ending& ending : again) sending_.push_front(std::move(ending));
  if (!over.empty()) (void)write(over);
  {
    const std::lock_guard lock(mutex_);
    unsettled_ -= over.size();
  }
  if (!over.empty()) parts_.wake_claims();
  return true;
}

void Worker::note_beat(const Beat& beat, const SettleAnswer& answer) {
  bool is_lost = false;
  std::string task;
  {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(beat.run);
    if (found == held_.end()) return;
    Held& held = found->second;
    is_lost = answer.verdict != "accepted" && !HORAE_MUTANT("lost_lease_runs_on");
    held.is_lost = is_lost;
    if (!is_lost && held.checkpoint == beat.checkpoint) held.checkpoint.reset();
    task = to_string(held.task.id);
  }
  if (!is_lost) return;
  parts_.log.info("run is stopped: the task is no longer this agent's",
                  {{kTaskField.data(), task}, {"verdict", answer.verdict}, {"reason", answer.problem}});
  parts_.executor.stop(beat.run, parts_.clock.now());
}

bool Worker::note_ending(Ending& ending, const SettleAnswer& answer) {
  if (answer.verdict == "accepted" || answer.verdict == "repeated") return true;
  parts_.log.warn("the end of a run was not accepted",
                  {{kTaskField.data(), to_string(ending.key.id)},
                   {"attempt", ending.key.attempt},
                   {"owner", ending.key.owner},
                   {"verdict", answer.verdict.empty() ? "malformed" : answer.verdict},
                   {"reason", answer.problem}});
  if (!answer.verdict.empty() || ending.is_refusal) return true;
  // The node finds the settlement itself wrong, and always will: the task must not stay as it is until its lease expires.
  Settlement abort{
      .event = Event::kAbort, .id = ending.key.id, .attempt = ending.key.attempt, .owner = ending.key.owner};
  abort.errors.push_back(
      {.code = "bad_result", .args = "{}", .description = answer.problem.substr(0, kMaxReasonBytes)});
  ending.settlement = settlement_json(abort);
  ending.is_refusal = true;
  return false;
}

void Worker::stop_runs_when_due(MonotonicTime now) {
  std::vector<ChoreId> runs;
  {
    const std::lock_guard lock(mutex_);
    if (!drains_since_ || has_stopped_runs_ || now < *drains_since_ + options_.grace / 4) return;
    for (auto& [run, held] : held_) {
      held.is_stopped = true;
      runs.push_back(run);
    }
    has_stopped_runs_ = true;
  }
  for (const ChoreId run : runs) parts_.executor.stop(run, now);
}

bool Worker::has_exited(MonotonicTime now) {
  std::optional<WorkerExit> exit;
  if (options_.contact_timeout && now - parts_.last_contact() > *options_.contact_timeout)
    exit = WorkerExit::kLostContact;
  {
    const std::lock_guard lock(mutex_);
    const bool is_empty = held_.empty() && unsettled_ == 0 && sending_.empty() && claims_have_ended_;
    const bool is_late = drains_since_ && now > *drains_since_ + 2 * options_.grace;  // the journal has the rest
    if (drains_since_ && (is_empty || is_late)) exit = WorkerExit::kDrained;
  }
  if (!exit) return false;
  if (!has_called_exit_) parts_.on_exit(*exit);
  has_called_exit_ = true;
  return true;
}

MonotonicTime Worker::next_report(MonotonicTime now) const {
  MonotonicTime next = now + kIdle;
  if (options_.contact_timeout) next = std::min(next, parts_.last_contact() + *options_.contact_timeout + kShortestTry);
  const std::lock_guard lock(mutex_);
  if (!endings_.empty()) return now;
  for (const auto& [run, held] : held_) {
    if (!held.is_lost) next = std::min(next, held.next_beat);
  }
  if (drains_since_) {
    next = std::min(next, has_stopped_runs_ ? *drains_since_ + 2 * options_.grace + kShortestTry
                                            : *drains_since_ + options_.grace / 4);
  }
  return next;
}

}  // namespace horae::agent
