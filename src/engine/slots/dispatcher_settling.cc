// The part of the dispatcher that calls the store: it settles, gives back and claims.

#include <algorithm>
#include <set>
#include <utility>

#include "engine/slots/dispatcher.h"

namespace horae {
namespace {

constexpr Duration kLongestWish = std::chrono::hours(1);  // then the wish is renewed

}  // namespace

MonotonicTime Dispatcher::settle_once(MonotonicTime now) {
  release_chores_of_closed_queues(now);
  give_back(now);
  find_lost_claim();
  exchange();
  wait_for_tasks(now);
  bool is_drained = false;
  MonotonicTime next;
  {
    const std::lock_guard lock(mutex_);
    is_drained = is_draining_ && holds_nothing();
    next = next_settling(now);
  }
  if (is_drained) signals_.drained();
  return next;
}

// When the store is asked again, or the next chore is to be given back. A node that stops has little time for what has
// failed.
MonotonicTime Dispatcher::next_settling(MonotonicTime now) const {
  MonotonicTime next = now + (is_draining_ ? options_.poll / 4 : options_.poll);
  for (const auto& entry : own_.chores.backlog()) next = std::min(next, entry.chore.since + options_.give_back);
  return next;
}

// ---- Giving back ----

// Releases chores of queues that were paused, perhaps by another node, or all of them if the scheduler is stopped.
void Dispatcher::release_chores_of_closed_queues(MonotonicTime now) {
  std::set<std::string> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (now < next_check_) return;
    next_check_ = now + options_.poll;
    for (const auto& entry : own_.chores.backlog()) waiting.insert(entry.chore.task->queue);
  }
  if (waiting.empty()) return;
  const auto closed = queues_.closed(std::vector<std::string>(waiting.begin(), waiting.end()));
  if (!closed.ok()) {
    log_.warn("cannot check for paused queues", {{"reason", closed.error().message}});
    return;
  }
  const std::lock_guard lock(mutex_);
  for (const auto& entry : own_.chores.backlog()) {
    if (std::ranges::find(*closed, entry.chore.task->queue) != closed->end()) let_go(own_, entry.chore);
  }
}

// Releases chores that have waited for too long: another node may have a free slot for them.
void Dispatcher::give_back(MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : own_.chores.backlog()) {
    if (now - entry.chore.since < options_.give_back) continue;
    is_full_ = true;
    let_go(own_, entry.chore);
  }
}

// ---- Settling and claiming ----

// Sends what has ended to the store, and claims for the slots that are free in the same commit. One exchange at a time:
// what ends meanwhile goes with the next one.
void Dispatcher::exchange() {
  std::vector<Outgoing> batch;
  std::vector<Settlement> settlements;
  std::optional<ClaimWish> wish;
  {
    const std::lock_guard lock(mutex_);
    if (is_exchanging_ || outgoing_.empty()) return;
    is_exchanging_ = true;
    const std::size_t count = std::min(kMaxBatch, outgoing_.size());
    batch.assign(outgoing_.begin(), outgoing_.begin() + static_cast<std::ptrdiff_t>(count));
    for (const Outgoing& each : batch) settlements.push_back(each.settlement);
    wish = next_wish();
  }
  exchange_(std::move(settlements), wish,
            [this, batch = std::move(batch), wish](Exchanged answer) { on_answer(batch, wish, std::move(answer)); });
}

// For the room that there is, unless tasks are being claimed already.
std::optional<ClaimWish> Dispatcher::next_wish() {
  if (has_wish_ || lost_claim_ || is_draining_ || room() == 0) return std::nullopt;
  return ClaimWish{.owner = owner_,
                   .queues = options_.queues,
                   .max = static_cast<int>(std::min(room(), kMaxBatch)),
                   .token = ids_.next(),
                   .lease = options_.lease};
}

// After a failure the next pass, which is a poll away, tries again.
void Dispatcher::on_answer(const std::vector<Outgoing>& sent, const std::optional<ClaimWish>& wish, Exchanged answer) {
  bool has_failed = false;
  {
    const std::lock_guard lock(mutex_);
    is_exchanging_ = false;
    has_failed = forget_settled(sent, answer.settled) < sent.size();
    if (wish && answer.leased.ok()) {
      push_all(std::move(answer.leased->tasks));
    } else if (wish) {
      has_failed = true;
      lost_claim_ = wish->token;
    }
  }
  log_settled(sent, answer.settled);
  if (wish) signals_.dispatch();
  if (!has_failed) signals_.settling();
}

// Returns how many were settled; the rest is sent again.
std::size_t Dispatcher::forget_settled(const std::vector<Outgoing>& sent,
                                       const std::vector<Result<SettleOutcome>>& outcomes) {
  std::vector<Outgoing> rest;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (outcomes[i].ok()) {
      held_.erase(sent[i].chore);
    } else {
      rest.push_back(std::move(outgoing_[i]));
    }
  }
  const std::size_t settled = sent.size() - rest.size();
  std::ranges::move(rest, outgoing_.begin() + static_cast<std::ptrdiff_t>(settled));
  outgoing_.erase(outgoing_.begin(), outgoing_.begin() + static_cast<std::ptrdiff_t>(settled));
  return settled;
}

void Dispatcher::log_settled(const std::vector<Outgoing>& sent, const std::vector<Result<SettleOutcome>>& outcomes) {
  bool has_failed = false;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const auto& outcome = outcomes[i];
    if (!outcome.ok()) {
      if (std::exchange(has_failed, true)) continue;
      log_.warn("cannot settle ended runs; retrying", {{"tasks", sent.size()}, {"reason", outcome.error().message}});
    } else if (!is_success(outcome->verdict)) {
      log_.warn("the end of a run was refused", {{"reason", settle_error(sent[i].settlement, *outcome).message}});
    }
  }
}

// A claim without an answer may have leased tasks to this node: they are found by its token.
void Dispatcher::find_lost_claim() {
  std::optional<Uuid> token;
  {
    const std::lock_guard lock(mutex_);
    token = lost_claim_;
  }
  if (!token) return;
  auto held = tasks_.leases_of(*token);
  if (!held.ok()) {
    log_.warn("cannot look up the tasks of a claim", {{"reason", held.error().message}});
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    lost_claim_.reset();
    push_all(std::move(*held));
  }
  signals_.dispatch();
}

// While nothing ends, slots are filled by a wish that waits at the claimer until tasks are ready.
void Dispatcher::wait_for_tasks(MonotonicTime now) {
  std::optional<ClaimWish> wish;
  {
    const std::lock_guard lock(mutex_);
    if (is_exchanging_) return;
    wish = next_wish();
    if (!wish) return;
    has_wish_ = true;
  }
  claimer_.wait(std::move(*wish), now + kLongestWish,
                [this](Result<std::vector<LeasedTask>> tasks) { return take(std::move(tasks)); });
}

// The claimer's answer. False if the node is about to stop: then the claimer releases the tasks.
bool Dispatcher::take(Result<std::vector<LeasedTask>> tasks) {
  bool is_accepted = false;
  {
    const std::lock_guard lock(mutex_);
    has_wish_ = false;
    is_accepted = !is_draining_;
    if (is_accepted && tasks.ok()) push_all(std::move(*tasks));
  }
  signals_.dispatch();
  signals_.settling();
  return is_accepted;
}

void Dispatcher::on_closed() {
  {
    const std::lock_guard lock(mutex_);
    next_check_ = MonotonicTime();
  }
  signals_.settling();
}

// ---- New chores ----

void Dispatcher::add_internal(LeasedTask task) {
  {
    const std::lock_guard lock(mutex_);
    push(internal_, std::move(task));
  }
  signals_.dispatch();
}

void Dispatcher::push_all(std::vector<LeasedTask> tasks) {
  for (LeasedTask& task : tasks) push(own_, std::move(task));
}

void Dispatcher::push(Lane& lane, LeasedTask task) {
  const int level = level_of(task.priority);
  const auto shared = std::make_shared<const LeasedTask>(std::move(task));
  const ChoreId id = ++last_chore_;
  held_.emplace(id, Held{.lane = &lane, .task = shared, .confirmed = last_now_});
  lane.chores.push(level, {.id = id, .task = shared, .since = last_now_});
  if (is_draining_) let_go(lane, {.id = id, .task = shared, .since = last_now_});
}

// Nothing is held, and nothing can come any more while the node drains.
bool Dispatcher::holds_nothing() const { return held_.empty() && !has_wish_ && !is_exchanging_ && !lost_claim_; }

}  // namespace horae
