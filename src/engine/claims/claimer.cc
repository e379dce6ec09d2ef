#include "engine/claims/claimer.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "store/submission.h"

namespace horae {
namespace {

template <typename Queues>
bool concerns(const ClaimWish& wish, const Queues& queues) {
  return std::ranges::find_first_of(wish.queues, queues) != wish.queues.end();
}

// Whether the tasks of the wish are released when its worker is gone.
bool is_released_by_node(const ClaimWish& wish) { return !wish.once || HORAE_MUTANT("workers_token_is_released"); }

// False if nothing was dropped.
template <typename Leftovers>
bool drop_oldest(Leftovers& leftovers, std::size_t most) {
  if (leftovers.size() <= most) return false;
  leftovers.erase(leftovers.begin(), leftovers.end() - static_cast<std::ptrdiff_t>(most));
  return true;
}

}  // namespace

std::vector<Settlement> releases_of(const std::string& owner, const std::vector<LeasedTask>& tasks) {
  std::vector<Settlement> releases;
  for (const LeasedTask& task : tasks) {
    releases.push_back({.event = Event::kRelease,
                        .id = task.id,
                        .number = task.number,
                        .attempt = task.attempt,
                        .owner = owner,
                        .queue = task.queue});
  }
  return releases;
}

Claimer::Ticket Claimer::wait(ClaimWish wish, MonotonicTime deadline, Deliver deliver) {
  Ticket ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    ticket = next_ticket_++;
    if (new_queues_.size() < kMaxQueues) new_queues_.insert(wish.queues.begin(), wish.queues.end());
    const bool may_repeat = wish.once;
    waiting_.emplace(
        ticket,
        Waiting{
            .wish = std::move(wish), .deadline = deadline, .deliver = std::move(deliver), .is_uncertain = may_repeat});
  }
  wake_();
  return ticket;
}

Claimer::Forgotten Claimer::forget(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return Forgotten::kIsUnderWay;
  const bool is_uncertain = found->second.is_uncertain;
  if (is_uncertain && is_released_by_node(found->second.wish)) {
    // It stays until its tasks are looked up; the worker is not called.
    found->second.deliver = [](const Result<std::vector<LeasedTask>>&) { return false; };
  } else {
    waiting_.erase(found);
  }
  return is_uncertain ? Forgotten::kMayHoldTasks : Forgotten::kHeldNothing;
}

void Claimer::on_ready(const std::vector<std::string>& queues) {
  bool any = false;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [ticket, waiting] : waiting_) {
      if (!concerns(waiting.wish, queues)) continue;
      waiting.is_due = true;
      any = true;
    }
    if (is_under_way_) ready_meanwhile_.insert(queues.begin(), queues.end());
  }
  if (any && !HORAE_MUTANT("lost_wake_up")) wake_();
}

void Claimer::on_ready_anywhere() {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [ticket, waiting] : waiting_) waiting.is_due = true;
    ready_anywhere_meanwhile_ = true;
  }
  wake_();
}

std::size_t Claimer::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

std::vector<std::string> Claimer::take_awaited() {
  const std::lock_guard lock(mutex_);
  std::set<std::string> awaited = std::exchange(new_queues_, {});
  for (const auto& [ticket, waiting] : waiting_) {
    if (awaited.size() >= kMaxQueues) break;
    awaited.insert(waiting.wish.queues.begin(), waiting.wish.queues.end());
  }
  return {awaited.begin(), awaited.end()};
}

MonotonicTime Claimer::run_once(MonotonicTime now) {
  has_failed_ = false;
  is_away_ = false;
  look_ups_ = 0;
  look_up_leftovers();
  Waitings due = take_due(now);
  find_lost_answers(due);
  claim(due);
  end_waits_of_served_tokens(due, now);
  wait_on_or_give_up(due, now);
  release_leftovers();
  bound_leftovers();
  if (has_failed_) next_poll_ = std::min(next_poll_, now + retry_in());
  return next_run(now);
}

// Takes the wishes for which tasks may be ready, and those at their deadline; all of them when it is time to poll.
Claimer::Waitings Claimer::take_due(MonotonicTime now) {
  const bool poll = now >= next_poll_;
  if (poll) next_poll_ = now + options_.poll;
  Waitings due;
  const std::lock_guard lock(mutex_);
  is_under_way_ = true;
  ready_meanwhile_.clear();
  ready_anywhere_meanwhile_ = false;
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto each = next++;
    const Waiting& waiting = each->second;
    const bool is_its_time = waiting.deadline <= now || (waiting.next_claim && *waiting.next_claim <= now);
    if ((poll && !HORAE_MUTANT("never_polls")) || waiting.is_due || is_its_time) due.insert(waiting_.extract(each));
  }
  return due;
}

void Claimer::find_lost_answers(Waitings& due) {
  bool has_failed = false;
  for (auto next = due.begin(); next != due.end();) {
    const auto each = next++;
    Waiting& waiting = each->second;
    if (!waiting.is_uncertain || waiting.wish.once) continue;  // the next claim finds it
    waiting.is_due = !has_failed && !may_look_up();            // there are too many for one pass
    if (has_failed || !may_look_up()) continue;
    auto held = look_up(waiting.wish);
    has_failed = !held;
    if (has_failed) continue;
    waiting.is_uncertain = false;
    if (held->empty()) continue;
    deliver(waiting, std::move(*held));
    due.erase(each);
  }
}

// One claim for all wishes. Those that got tasks, or may have none, leave `due`.
void Claimer::claim(Waitings& due) {
  if (is_away_) {
    for (auto& [ticket, waiting] : due) waiting.is_due = false;  // retried later, not at once
    return;
  }
  std::vector<Waiting*> asking;
  std::vector<ClaimWish> wishes;
  std::vector<Ticket> tickets;
  std::size_t wanted = 0;
  std::size_t tokens = 0;
  for (auto& [ticket, waiting] : due) {
    // The transaction is bounded, because other calls wait for it; a single wish always fits.
    const auto more = static_cast<std::size_t>(waiting.wish.max);
    const bool is_resolved = !waiting.is_uncertain || waiting.wish.once;
    if (!is_resolved || (wanted > 0 && wanted + more > kMaxBatch)) continue;
    if (waiting.wish.once && ++tokens > kMaxOnceInAClaim) {
      waiting.is_due = true;
      continue;
    }
    wanted += more;
    asking.push_back(&waiting);
    wishes.push_back(waiting.wish);
    tickets.push_back(ticket);
  }
  if (wishes.empty() || is_draining()) return;
  auto granted = tasks_.claim(wishes);
  if (!granted.ok()) {
    note_failure(granted.error());
    log_.warn("cannot claim tasks", {{"workers", wishes.size()}, {"reason", granted.error().message}});
    for (Waiting* waiting : asking) {
      waiting->is_due = false;  // retried later, not at once
      // This claim may have repeated one that got tasks, even if it failed for certain itself.
      const bool may_hold = granted.error().code == ErrorCode::kUnavailable || waiting->wish.once;
      waiting->is_uncertain = may_hold && !HORAE_MUTANT("lost_answer_is_forgotten");
    }
    return;
  }
  for (std::size_t i = 0; i < asking.size(); ++i) {
    asking[i]->is_due = false;
    asking[i]->is_uncertain = false;
    ClaimOutcome& outcome = (*granted)[i];
    if (outcome.kind == ClaimOutcome::Kind::kOtherOwner) {
      (void)asking[i]->deliver(other_owner_error(asking[i]->wish));
    } else if (!outcome.tasks.empty()) {
      deliver(*asking[i], std::move(outcome.tasks));
    } else {
      continue;
    }
    due.erase(tickets[i]);
  }
}

// Checks each wish once, and only after its first claim has found nothing, so that it costs nothing where there is
// work. What was leased under the token since that claim is found by the next claim, which is the last.
void Claimer::end_waits_of_served_tokens(Waitings& due, MonotonicTime now) {
  std::vector<Waiting*> waits;
  std::vector<Uuid> tokens;
  for (auto& [ticket, waiting] : due) {
    const bool has_claimed = !waiting.is_due && !waiting.is_uncertain;
    if (!waiting.wish.once || !waiting.is_fresh || !has_claimed || waiting.deadline <= now) continue;
    waits.push_back(&waiting);
    tokens.push_back(waiting.wish.token);
  }
  if (tokens.empty() || is_away_ || is_draining()) return;
  const auto served = tasks_.have_served(tokens);
  if (!served.ok()) return note_failure(served.error());
  for (std::size_t i = 0; i < waits.size(); ++i) {
    waits[i]->is_fresh = false;
    if (!(*served)[i]) continue;
    waits[i]->is_due = true;
    waits[i]->is_uncertain = true;
    waits[i]->deadline = now;
  }
}

// False if the wait is over.
bool Claimer::wait_on(Waitings::node_type& each, MonotonicTime now) {
  Waiting& waiting = each.mapped();
  const std::lock_guard lock(mutex_);
  const bool has_to_claim = waiting.wish.once && waiting.is_due;  // it must get what its token may hold
  if (is_draining_ || (waiting.deadline <= now && !has_to_claim)) return false;
  if (waiting.wish.once) waiting.next_claim = now + std::max(waiting.wish.lease / 3, options_.retry);
  if (ready_anywhere_meanwhile_ || concerns(waiting.wish, ready_meanwhile_)) waiting.is_due = true;
  waiting_.insert(std::move(each));
  return true;
}

void Claimer::wait_on_or_give_up(Waitings& due, MonotonicTime now) {
  while (!due.empty()) {
    auto each = due.extract(due.begin());
    Waiting& waiting = each.mapped();
    if (wait_on(each, now)) continue;
    if (waiting.is_uncertain && is_released_by_node(waiting.wish)) {
      uncertain_.push_back(waiting.wish);
      shortest_ = std::min(shortest_, waiting.wish.lease);
    }
    if (waiting.is_uncertain || is_away_) {
      (void)waiting.deliver(Error{ErrorCode::kUnavailable, "the store is away: try again"});
    } else {
      (void)waiting.deliver(std::vector<LeasedTask>());
    }
  }
}

void Claimer::drain() {
  {
    const std::lock_guard lock(mutex_);
    is_draining_ = true;
    for (auto& [ticket, waiting] : waiting_) waiting.is_due = true;
  }
  wake_();
}

bool Claimer::is_draining() const {
  const std::lock_guard lock(mutex_);
  return is_draining_;
}

bool Claimer::is_empty() const {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() && !is_under_way_ && !has_leftovers_;
}

// What a claim without an answer holds is found, or released, while most of its lease is left.
Duration Claimer::retry_in() const {
  Duration shortest = uncertain_.empty() && unreleased_.empty() ? kMaxLease : shortest_;
  const std::lock_guard lock(mutex_);
  for (const auto& [ticket, waiting] : waiting_) {
    if (waiting.is_uncertain) shortest = std::min(shortest, waiting.wish.lease);
  }
  return std::min(options_.retry, shortest / 4);
}

MonotonicTime Claimer::next_run(MonotonicTime now) {
  MonotonicTime next = std::max(next_poll_, now);       // a pass between two polls does not delay the next poll
  if (!uncertain_.empty() && !has_failed_) next = now;  // there were too many for one pass
  const std::lock_guard lock(mutex_);
  is_under_way_ = false;
  has_leftovers_ = !uncertain_.empty() || !unreleased_.empty();
  for (const auto& [ticket, waiting] : waiting_) {
    next = std::min(next, waiting.is_due ? now : waiting.deadline);
    if (waiting.next_claim) next = std::min(next, *waiting.next_claim);
  }
  return next;
}

void Claimer::deliver(Waiting& waiting, std::vector<LeasedTask> tasks) {
  const std::vector<Settlement> releases = releases_of(waiting.wish.owner, tasks);
  const bool is_gone = !waiting.deliver(std::move(tasks));
  if (!is_gone || !is_released_by_node(waiting.wish) || HORAE_MUTANT("gone_workers_keep_tasks")) return;
  unreleased_.insert(unreleased_.end(), releases.begin(), releases.end());
  shortest_ = std::min(shortest_, waiting.wish.lease);
}

// ---- Leftovers: claims whose worker is gone ----

void Claimer::note_failure(const Error& error) {
  has_failed_ = true;
  is_away_ = is_away_ || error.code == ErrorCode::kUnavailable;
}

std::optional<std::vector<LeasedTask>> Claimer::look_up(const ClaimWish& wish) {
  ++look_ups_;
  auto held = tasks_.leases_of(wish.token);
  if (held.ok()) return std::move(*held);
  note_failure(held.error());
  return std::nullopt;
}

void Claimer::look_up_leftovers() {
  while (!uncertain_.empty() && may_look_up()) {
    const ClaimWish& wish = uncertain_.front();
    const auto held = look_up(wish);
    if (!held) return;
    const std::vector<Settlement> releases = releases_of(wish.owner, *held);
    unreleased_.insert(unreleased_.end(), releases.begin(), releases.end());
    uncertain_.pop_front();
  }
}

void Claimer::release_leftovers() {
  while (!unreleased_.empty() && !is_away_) {
    const auto count = static_cast<std::ptrdiff_t>(std::min(unreleased_.size(), kMaxBatch));
    const std::vector<Settlement> batch(unreleased_.begin(), unreleased_.begin() + count);
    const auto settled = tasks_.settle(batch);
    if (!settled.ok()) {
      note_failure(settled.error());
      log_.warn("cannot release tasks of workers that are gone", {{"reason", settled.error().message}});
      return;
    }
    unreleased_.erase(unreleased_.begin(), unreleased_.begin() + count);
  }
}

void Claimer::bound_leftovers() {
  const bool drops_claims = drop_oldest(uncertain_, kMaxUncertainClaims);
  const bool drops_tasks = drop_oldest(unreleased_, kMaxUnreleasedTasks);
  if ((drops_claims || drops_tasks) && !std::exchange(has_dropped_, true)) {
    log_.warn("too many tasks of workers that are gone cannot be released: the oldest will expire",
              {{"claims", uncertain_.size()}, {"tasks", unreleased_.size()}});
  }
  if (!uncertain_.empty() || !unreleased_.empty()) return;
  has_dropped_ = false;
  shortest_ = kMaxLease;
}

}  // namespace horae
