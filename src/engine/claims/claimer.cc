#include "engine/claims/claimer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"

namespace horae {
namespace {

// Whether the tasks of the claim are released when its worker is gone.
bool is_released_by_node(const ClaimWish& wish) { return !wish.once || HORAE_MUTANT("workers_token_is_released"); }

const Error& stopping() {
  static const Error error{ErrorCode::kUnavailable,
                           "this node is stopping, and the outcome of the claim is unknown: repeat it at another node "
                           "with the same token"};
  return error;
}

void remove(std::map<std::string, std::set<Claimer::Ticket>, std::less<>>& lines, const std::string& name,
            Claimer::Ticket ticket) {
  const auto line = lines.find(name);
  if (line == lines.end()) return;
  line->second.erase(ticket);
  if (line->second.empty()) lines.erase(line);
}

}  // namespace

Claimer::Claimer(Combiner& combiner, TaskStore& tasks, Logger log, std::function<void()> wake, ClaimerOptions options,
                 Meter& meter)
    : combiner_(combiner),
      tasks_(tasks),
      log_(log),
      wake_(std::move(wake)),
      options_(options),
      leftovers_(std::move(log)),
      waiting_probe_(meter.probe({"horae_waiting_workers", "Long polls that wait for tasks"},
                                 [this] { return static_cast<double>(waiting()); })) {}

// ---- Calls ----

Claimer::Ticket Claimer::exchange(Call call) {
  Todo todo;
  Ticket ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    ticket = next_ticket_++;
    Waiting waiting{.call = std::move(call)};
    waiting.has_attention = waiting.call.wants_attention && attention_.take(waiting.call.owner);
    const bool may_wait = waiting.call.settlements.empty() && !(is_ending_ && waiting.call.is_admitted);
    if (!may_wait || waiting.has_attention || is_draining_) waiting.call.wait_until.reset();
    if (waiting.call.claim) note_awaited(*waiting.call.claim);
    const auto each = waiting_.emplace(ticket, std::move(waiting)).first;
    if (!waits(each->second)) {
      ask(ticket, todo);
    } else {
      owners_[each->second.call.owner].insert(ticket);
      each->second.is_fresh = each->second.call.claim && each->second.call.claim->once;
      enter_line(ticket, each->second, todo);
    }
  }
  perform(std::move(todo));
  return ticket;
}

Claimer::Ticket Claimer::wait(ClaimWish wish, MonotonicTime deadline, Deliver deliver) {
  std::string owner = wish.owner;
  return exchange(
      {.owner = std::move(owner),
       .claim = std::move(wish),
       .wait_until = deadline,
       .wants_attention = false,
       .deliver = [deliver = std::move(deliver)](Answer answer) { return deliver(std::move(answer.tasks)); }});
}

void Claimer::note_awaited(const ClaimWish& wish) {
  if (new_queues_.size() < kMaxQueues) new_queues_.insert(wish.queues.begin(), wish.queues.end());
}

bool Claimer::waits(const Waiting& waiting) const { return waiting.call.wait_until && !is_draining_; }

void Claimer::perform(Todo todo) {
  for (Delivery& delivery : todo.deliveries) deliver(std::move(delivery));
  for (Sending& sending : todo.sendings) send(std::move(sending));
  if (todo.wakes) wake_();
}

// Sends what the call wants to the combiner. Nothing is claimed any more while the node drains.
void Claimer::ask(Ticket ticket, Todo& todo) {
  const auto each = waiting_.find(ticket);
  Waiting& waiting = each->second;
  leave_line(ticket, waiting);
  if (waiting.call.claim && is_draining_) {
    // The token may hold tasks already, which "nothing" would hide.
    const bool may_hold = waiting.call.claim->once;
    waiting.call.claim.reset();
    if (may_hold && waiting.call.settlements.empty()) return answer(each, {.settled = {}, .tasks = stopping()}, todo);
  }
  if (!waiting.call.claim && waiting.call.settlements.empty()) return answer(each, {}, todo);
  waiting.is_asking = true;
  ++sendings_;
  if (waiting.call.claim) waiting.grant = permits_.take(*waiting.call.claim);
  todo.sendings.push_back({ticket, std::exchange(waiting.call.settlements, {}), waiting.call.claim});
}

void Claimer::send(Sending sending) {
  const Ticket ticket = sending.ticket;
  if (!sending.claim) {
    return combiner_.settle(std::move(sending.settlements), [this, ticket](std::vector<Result<SettleOutcome>> settled) {
      finish(ticket, std::move(settled), ClaimOutcome());
    });
  }
  if (sending.settlements.empty()) {
    return combiner_.claim(std::move(*sending.claim),
                           [this, ticket](Result<ClaimOutcome> leased) { finish(ticket, {}, std::move(leased)); });
  }
  combiner_.exchange(std::move(sending.settlements), std::move(*sending.claim), [this, ticket](Exchanged exchanged) {
    finish(ticket, std::move(exchanged.settled), std::move(exchanged.leased));
  });
}

void Claimer::finish(Ticket ticket, std::vector<Result<SettleOutcome>> settled, Result<ClaimOutcome> leased) {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    const auto each = waiting_.find(ticket);
    HORAE_CHECK(each != waiting_.end() && each->second.is_asking, "a call that is under way stays until its answer");
    Waiting& waiting = each->second;
    waiting.is_asking = false;
    --sendings_;
    const Permits::Grant grant = std::exchange(waiting.grant, {});
    const bool loses_permits = waiting.is_gone && HORAE_MUTANT("permit_lost_with_gone_waiter");
    if (!leased.ok()) {
      if (!loses_permits) permits_.note_failure(grant);
      rest(leased.error(), todo);
    } else if (waiting.call.claim) {
      if (!loses_permits) permits_.note_outcome(grant, *waiting.call.claim, *leased);
      if (std::exchange(is_resting_, false)) todo.wakes = true;
    }
    conclude(each, std::move(settled), std::move(leased), todo);
    for (const Permits::Grant::OfQueue& given : grant.queues) serve(given.queue, todo);
  }
  perform(std::move(todo));
}

// The call is over, or waits on.
void Claimer::conclude(Waitings::iterator each, std::vector<Result<SettleOutcome>> settled, Result<ClaimOutcome> leased,
                       Todo& todo) {
  Waiting& waiting = each->second;
  const bool waits_on = waits(waiting) && !waiting.is_gone && !waiting.has_attention;
  if (!waiting.call.claim) return answer(each, {.settled = std::move(settled)}, todo);
  const ClaimWish& wish = *waiting.call.claim;
  if (!leased.ok()) {
    // This claim may have repeated one that got tasks, even if it failed for certain itself.
    const bool may_hold = leased.error().code == ErrorCode::kUnavailable || wish.once;
    waiting.is_uncertain = may_hold && !HORAE_MUTANT("lost_answer_is_forgotten");
    if (waits_on) return enter_line(each->first, waiting, todo);
    if (waiting.is_uncertain && is_released_by_node(wish)) leftovers_.add(wish);
    return answer(each, {.settled = std::move(settled), .tasks = leased.error()}, todo);
  }
  waiting.is_uncertain = false;
  waiting.is_fresh = false;
  const bool is_over = leased->kind != ClaimOutcome::Kind::kNew || !leased->tasks.empty() || !waits_on;
  if (!is_over) return enter_line(each->first, waiting, todo);
  Answer said{.settled = std::move(settled), .tasks = std::move(leased->tasks)};
  if (leased->kind == ClaimOutcome::Kind::kOtherOwner) said.tasks = other_owner_error(wish);
  answer(each, std::move(said), todo);
}

void Claimer::answer(Waitings::iterator each, Answer answer, Todo& todo) {
  Waiting& waiting = each->second;
  answer.has_attention = waiting.has_attention;
  leave_line(each->first, waiting);
  remove(owners_, waiting.call.owner, each->first);
  todo.deliveries.push_back({std::move(waiting.call), waiting.is_gone, std::move(answer)});
  ++deliveries_;
  waiting_.erase(each);
}

void Claimer::deliver(Delivery delivery) {
  const bool has_attention = delivery.answer.has_attention;
  const auto& settled = delivery.answer.settled;
  const bool is_settled = settled.empty() || std::ranges::any_of(settled, [](const auto& each) { return each.ok(); });
  const bool is_told = has_attention && delivery.answer.tasks.ok() && is_settled;
  const auto& claim = delivery.call.claim;
  std::vector<Settlement> releases;
  if (claim && is_released_by_node(*claim) && delivery.answer.tasks.ok()) {
    releases = releases_of(delivery.call.owner, *delivery.answer.tasks);
  }
  const bool is_taken = !delivery.is_gone && delivery.call.deliver(std::move(delivery.answer));
  {
    const std::lock_guard lock(mutex_);
    --deliveries_;
    if (has_attention && !(is_taken && is_told)) attention_.keep(delivery.call.owner);
    if (is_taken || releases.empty() || HORAE_MUTANT("gone_workers_keep_tasks")) return;
    leftovers_.add(std::move(releases), claim->lease);
  }
  release_leftovers();
}

// ---- Those that wait ----

// A claim that waits asks at once if there is work for it; else what it needs next is for run_once(), and so is a claim
// that may hold tasks: under a token of the node it must not be repeated before it was looked up.
void Claimer::enter_line(Ticket ticket, const Waiting& waiting, Todo& todo) {
  const auto& claim = waiting.call.claim;
  if (waiting.is_uncertain) {
    todo.wakes = true;
    return;
  }
  if (claim && !is_resting_ && permits_.has_work(*claim)) return ask(ticket, todo);
  if (claim) {
    for (const std::string& queue : claim->queues) lines_[queue].insert(ticket);
  }
  const bool is_checked_late = waiting.is_fresh && next_check_ < next_pass_;
  if (is_checked_late || *waiting.call.wait_until < next_pass_) todo.wakes = true;
}

void Claimer::leave_line(Ticket ticket, const Waiting& waiting) {
  if (!waiting.call.claim) return;
  for (const std::string& queue : waiting.call.claim->queues) remove(lines_, queue, ticket);
}

void Claimer::serve(const std::string& queue, Todo& todo) {
  while (!is_resting_ && !is_draining_ && permits_.has_work(queue)) {
    const auto line = lines_.find(queue);
    if (line == lines_.end()) return;
    ask(*line->second.begin(), todo);
  }
}

void Claimer::serve_all(Todo& todo) {
  std::vector<std::string> queues;
  for (const auto& [queue, line] : lines_) queues.push_back(queue);
  for (const std::string& queue : queues) serve(queue, todo);
}

// Ends a wait before anything came for it. What its claim may hold is found by the worker, under its own token, or
// looked up and released.
void Claimer::give_up(Waitings::iterator each, Todo& todo) {
  Waiting& waiting = each->second;
  if (waiting.is_asking) {
    waiting.call.wait_until.reset();  // its answer ends it
    return;
  }
  const auto& claim = waiting.call.claim;
  const bool may_hold = claim && (waiting.is_uncertain || waiting.is_fresh);
  if (may_hold && !waiting.is_fresh && is_released_by_node(*claim)) leftovers_.add(*claim);
  Answer said;
  if (may_hold) said.tasks = stopping();
  answer(each, std::move(said), todo);
}

void Claimer::forget(Ticket ticket) {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    const auto each = waiting_.find(ticket);
    if (each == waiting_.end()) return;
    each->second.is_gone = true;
    if (each->second.is_asking) return;
    give_up(each, todo);
    todo.wakes = !leftovers_.empty();
  }
  perform(std::move(todo));
}

void Claimer::end_calls() {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    for (auto next = waiting_.begin(); next != waiting_.end();) {
      const auto each = next++;
      if (each->second.call.is_admitted) give_up(each, todo);
    }
  }
  perform(std::move(todo));
}

void Claimer::end_revoked() {
  std::vector<std::pair<Ticket, std::function<bool()>>> asked;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [ticket, waiting] : waiting_) {
      if (waiting.call.is_admitted) asked.emplace_back(ticket, waiting.call.is_admitted);
    }
  }
  std::erase_if(asked, [](const auto& each) { return each.second(); });
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [ticket, is_admitted] : asked) {
      if (const auto each = waiting_.find(ticket); each != waiting_.end()) give_up(each, todo);
    }
  }
  perform(std::move(todo));
}

// ---- What wakes them ----

void Claimer::on_wake_ups(const WakeUps& wake_ups) {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    announce(wake_ups, todo);
    for (const std::string& owner : wake_ups.cancelled_owners) call_attention(owner, todo);
  }
  perform(std::move(todo));
}

void Claimer::announce(const WakeUps& wake_ups, Todo& todo) {
  for (const ReadyTasks& each : wake_ups.counted) permits_.announce(each.queue, each.count);
  for (const std::string& queue : wake_ups.ready) permits_.announce(queue, 0);
  const bool is_anywhere = wake_ups.ready_anywhere || wake_ups.control;
  if (is_anywhere) permits_.announce_anywhere();
  if (HORAE_MUTANT("lost_wake_up")) return;
  if (is_anywhere) return serve_all(todo);
  for (const ReadyTasks& each : wake_ups.counted) serve(each.queue, todo);
  for (const std::string& queue : wake_ups.ready) serve(queue, todo);
}

void Claimer::on_ready(const std::vector<std::string>& queues) { on_wake_ups({.ready = queues}); }

void Claimer::on_ready_anywhere() { on_wake_ups({.ready_anywhere = true}); }

// A wait whose token may hold tasks ends with one more claim. If nobody waits, the hint is kept for the next call.
void Claimer::call_attention(const std::string& owner, Todo& todo) {
  const auto found = owners_.find(owner);
  if (found == owners_.end()) return attention_.keep(owner);
  const std::set<Ticket> tickets = found->second;
  for (const Ticket ticket : tickets) {
    const auto each = waiting_.find(ticket);
    Waiting& waiting = each->second;
    if (!waiting.call.wants_attention) continue;
    waiting.has_attention = true;
    if (waiting.is_asking) continue;
    if (!waiting.is_fresh && !waiting.is_uncertain) {
      answer(each, {}, todo);
    } else if (waiting.is_fresh) {
      ask(ticket, todo);
    }
  }
}

std::size_t Claimer::waiting() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(waiting_, [](const auto& each) {
    const Waiting& waiting = each.second;
    return waiting.call.claim && waiting.call.wait_until && !waiting.is_asking;
  }));
}

bool Claimer::is_busy() const {
  const std::lock_guard lock(mutex_);
  return deliveries_ > 0 || sendings_ > 0 || is_releasing_;
}

std::vector<std::string> Claimer::take_awaited() {
  const std::lock_guard lock(mutex_);
  std::set<std::string> awaited = std::exchange(new_queues_, {});
  for (const auto& [ticket, waiting] : waiting_) {
    if (awaited.size() >= kMaxQueues) break;
    if (waiting.call.claim) awaited.insert(waiting.call.claim->queues.begin(), waiting.call.claim->queues.end());
  }
  return {awaited.begin(), awaited.end()};
}

void Claimer::drain() {
  {
    const std::lock_guard lock(mutex_);
    is_draining_ = true;
  }
  wake_();
}

bool Claimer::is_empty() const {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() && deliveries_ == 0 && !is_in_pass_ && !is_releasing_ && leftovers_.empty();
}

}  // namespace horae
