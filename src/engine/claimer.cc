#include "engine/claimer.h"

#include <algorithm>

#include "base/mutant.h"

namespace horae {

Claimer::Ticket Claimer::wait(ClaimWish wish, MonotonicTime deadline, Deliver deliver) {
  Ticket ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    ticket = next_ticket_++;
    waiting_.emplace(ticket, Waiting{.wish = std::move(wish), .deadline = deadline, .deliver = std::move(deliver)});
  }
  wake_();
  return ticket;
}

bool Claimer::forget(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return false;
  if (!found->second.is_uncertain) {
    waiting_.erase(found);
    return true;
  }
  // It may hold tasks: it stays until that is known, and nobody is called.
  found->second.deliver = [](const Result<std::vector<LeasedTask>>&) { return false; };
  return true;
}

void Claimer::on_ready(const std::vector<std::string>& queues) {
  bool any = false;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [ticket, waiting] : waiting_) {
      const bool concerns = std::ranges::any_of(waiting.wish.queues, [&](const std::string& queue) {
        return std::ranges::find(queues, queue) != queues.end();
      });
      waiting.is_due = waiting.is_due || concerns;
      any = any || concerns;
    }
  }
  if (any && !HORAE_MUTANT("lost_wake_up")) wake_();
}

void Claimer::on_ready_anywhere() {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [ticket, waiting] : waiting_) waiting.is_due = true;
  }
  wake_();
}

std::size_t Claimer::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

MonotonicTime Claimer::run_once(MonotonicTime now) {
  finish_leftovers();
  Waitings due = take_due(now);
  find_lost_answers(due);
  claim(due);
  wait_on_or_give_up(due, now);
  return next_run(now);
}

// Those for whom something may be ready; all of them when it is time to poll, or when theirs is over.
Claimer::Waitings Claimer::take_due(MonotonicTime now) {
  const bool poll = now >= next_poll_;
  if (poll) next_poll_ = now + options_.poll;
  Waitings due;
  const std::lock_guard lock(mutex_);
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const auto each = next++;
    if ((poll && !HORAE_MUTANT("never_polls")) || each->second.is_due || each->second.deadline <= now)
      due.insert(waiting_.extract(each));
  }
  return due;
}

void Claimer::find_lost_answers(Waitings& due) {
  for (auto next = due.begin(); next != due.end();) {
    const auto each = next++;
    Waiting& waiting = each->second;
    if (!waiting.is_uncertain) continue;
    auto held = tasks_.leases_of(waiting.wish.token);
    if (!held.ok()) continue;
    waiting.is_uncertain = false;
    if (held->empty()) continue;
    deliver(waiting, std::move(*held));
    due.erase(each);
  }
}

// One claim for all of them. Those that got something leave `due`.
void Claimer::claim(Waitings& due) {
  std::vector<Waiting*> asking;
  std::vector<ClaimWish> wishes;
  std::vector<Ticket> tickets;
  std::size_t asked = 0;
  for (auto& [ticket, waiting] : due) {
    // All is leased in one transaction that others wait for, so it is bounded; a single wish always fits.
    const auto more = static_cast<std::size_t>(waiting.wish.max);
    if (waiting.is_uncertain || (asked > 0 && asked + more > kMaxBatch)) continue;
    asked += more;
    asking.push_back(&waiting);
    wishes.push_back(waiting.wish);
    tickets.push_back(ticket);
  }
  if (wishes.empty()) return;
  auto granted = tasks_.claim(wishes);
  if (!granted.ok()) {
    log_.warn("cannot claim tasks", {{"workers", wishes.size()}, {"reason", granted.error().message}});
    for (Waiting* waiting : asking) {
      waiting->is_due = false;  // with the next poll, not at once
      waiting->is_uncertain =
          granted.error().code == ErrorCode::kUnavailable && !HORAE_MUTANT("lost_answer_is_forgotten");
    }
    return;
  }
  for (std::size_t i = 0; i < asking.size(); ++i) {
    asking[i]->is_due = false;
    if ((*granted)[i].empty()) continue;
    deliver(*asking[i], std::move((*granted)[i]));
    due.erase(tickets[i]);
  }
}

void Claimer::wait_on_or_give_up(Waitings& due, MonotonicTime now) {
  while (!due.empty()) {
    auto each = due.extract(due.begin());
    Waiting& waiting = each.mapped();
    if (waiting.deadline > now) {
      const std::lock_guard lock(mutex_);
      waiting_.insert(std::move(each));
      continue;
    }
    if (waiting.is_uncertain) {
      uncertain_.push_back(waiting.wish);
      (void)waiting.deliver(Error{ErrorCode::kUnavailable, "the store is away: ask again"});
    } else {
      (void)waiting.deliver(std::vector<LeasedTask>());
    }
  }
}

MonotonicTime Claimer::next_run(MonotonicTime now) {
  MonotonicTime next = std::max(next_poll_, now);  // a run between two polls does not put the next one off
  const std::lock_guard lock(mutex_);
  for (const auto& [ticket, waiting] : waiting_) {
    next = std::min(next, waiting.is_due ? now : waiting.deadline);
  }
  return next;
}

void Claimer::deliver(Waiting& waiting, std::vector<LeasedTask> tasks) {
  const std::vector<LeasedTask> given = tasks;
  const bool is_gone = !waiting.deliver(std::move(tasks));
  if (is_gone && !HORAE_MUTANT("gone_workers_keep_tasks")) release(waiting.wish, given);
}

// The attempts were never started: they cost no try.
void Claimer::release(const ClaimWish& wish, const std::vector<LeasedTask>& tasks) {
  for (const LeasedTask& task : tasks) {
    unreleased_.push_back(
        {.event = Event::kRelease, .id = task.id, .number = task.number, .attempt = task.attempt, .owner = wish.owner});
  }
  finish_leftovers();
}

void Claimer::finish_leftovers() {
  std::erase_if(uncertain_, [this](const ClaimWish& wish) {
    const auto held = tasks_.leases_of(wish.token);
    if (!held.ok()) return false;
    for (const LeasedTask& task : *held) {
      unreleased_.push_back({.event = Event::kRelease,
                             .id = task.id,
                             .number = task.number,
                             .attempt = task.attempt,
                             .owner = wish.owner});
    }
    return true;
  });
  while (!unreleased_.empty()) {
    const std::size_t count = std::min(unreleased_.size(), kMaxBatch);
    const auto settled = tasks_.settle(std::span(unreleased_).first(count));
    if (!settled.ok()) {
      log_.warn("cannot release tasks of workers that are gone", {{"reason", settled.error().message}});
      return;
    }
    unreleased_.erase(unreleased_.begin(), unreleased_.begin() + static_cast<std::ptrdiff_t>(count));
  }
}

}  // namespace horae
