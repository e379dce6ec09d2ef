// The steps of Claimer::run_once(): what depends on time, and what an outage has left.
#include <algorithm>
#include <span>
#include <utility>

#include "base/mutant.h"
#include "engine/claims/claimer.h"

namespace horae {
namespace {

constexpr Duration kAttentionIsSwept = std::chrono::seconds(15);

const Error& away() {
  static const Error error{ErrorCode::kUnavailable, "the store is away: try again"};
  return error;
}

}  // namespace

MonotonicTime Claimer::run_once(MonotonicTime now) {
  look_ups_ = 0;
  begin_pass(now);
  look_up_leftovers();
  find_lost_answers();
  ask_again();
  check_tokens(now);
  end_waits(now);
  release_leftovers();
  return end_pass(now);
}

void Claimer::begin_pass(MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  is_in_pass_ = true;
  next_pass_ = MonotonicTime::max();  // what comes during the pass asks for another one
  attention_.drop_old(now);
  if (is_resting_ && retry_at_ && *retry_at_ <= now) is_resting_ = false;
  if (!next_poll_) next_poll_ = now + options_.poll;
  if (*next_poll_ > now) return;
  next_poll_ = now + options_.poll;
  if (!HORAE_MUTANT("never_polls")) permits_.announce_anywhere();
}

// After a poll or a rest: those that may hold tasks under tokens of their own, and then all for which there is work.
void Claimer::ask_again() {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    for (auto next = waiting_.begin(); next != waiting_.end() && !is_resting_;) {
      const auto each = next++;
      const Waiting& waiting = each->second;
      const bool claims_again = waiting.is_uncertain && !waiting.is_asking && waiting.call.claim->once;
      if (claims_again) ask(each->first, todo);
    }
    serve_all(todo);
  }
  perform(std::move(todo));
}

// After a failure all waits rest for a while.
void Claimer::rest(const Error& error, Todo& todo) {
  is_away_ = error.retryable();
  if (std::exchange(is_resting_, true)) return;
  retry_at_.reset();
  todo.wakes = true;
  log_.warn("cannot claim, look up or release tasks; retrying",
            {{"waiting", waiting_.size()}, {"reason", error.message}});
}

void Claimer::note_failure(const Error& error) {
  const std::lock_guard lock(mutex_);
  Todo todo;  // the pass is under way already
  rest(error, todo);
}

// What a claim without an answer holds is found, or released, while most of its lease is left.
Duration Claimer::retry_in() const {
  Duration shortest = leftovers_.shortest_lease();
  for (const auto& [ticket, waiting] : waiting_) {
    if (waiting.is_uncertain) shortest = std::min(shortest, waiting.call.claim->lease);
  }
  return std::min(options_.retry, shortest / 4);
}

// ---- Lost answers ----

std::optional<std::vector<LeasedTask>> Claimer::look_up(const Uuid& token) {
  ++look_ups_;
  auto held = tasks_.leases_of(token);
  if (held.ok()) return std::move(*held);
  note_failure(held.error());
  return std::nullopt;
}

// Claims whose worker is gone.
void Claimer::look_up_leftovers() {
  while (look_ups_ < kMaxLookUpsInAPass) {
    std::unique_lock lock(mutex_);
    if (is_resting_ || !leftovers_.has_claims()) return;
    ClaimWish claim = leftovers_.take_claim();
    lock.unlock();
    const auto held = look_up(claim.token);
    lock.lock();
    if (!held) return leftovers_.put_back(std::move(claim));
    leftovers_.add(releases_of(claim.owner, *held), claim.lease);
  }
}

// Claims whose worker waits. The next claim of a token with `once` finds its tasks by itself.
void Claimer::find_lost_answers() {
  while (look_ups_ < kMaxLookUpsInAPass) {
    const auto lost = take_lost();
    if (!lost) return;
    note_found(lost->first, look_up(lost->second));
  }
}

std::optional<std::pair<Claimer::Ticket, Uuid>> Claimer::take_lost() {
  const std::lock_guard lock(mutex_);
  if (is_resting_) return std::nullopt;
  for (auto& [ticket, waiting] : waiting_) {
    if (!waiting.is_uncertain || waiting.is_asking || waiting.call.claim->once) continue;
    leave_line(ticket, waiting);
    waiting.is_asking = true;
    return std::pair(ticket, waiting.call.claim->token);
  }
  return std::nullopt;
}

void Claimer::note_found(Ticket ticket, std::optional<std::vector<LeasedTask>> held) {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    const auto each = waiting_.find(ticket);
    Waiting& waiting = each->second;
    waiting.is_asking = false;
    if (!held) {
      if (!waiting.is_gone && waits(waiting)) return enter_line(ticket, waiting, todo);
      give_up(each, todo);
    } else {
      waiting.is_uncertain = false;
      conclude(each, {}, ClaimOutcome{.tasks = std::move(*held)}, todo);
    }
  }
  perform(std::move(todo));
}

// ---- Tokens ----

Duration Claimer::check_every() const {
  Duration shortest = options_.check * 3;
  for (const auto& [ticket, waiting] : waiting_) {
    if (waiting.call.claim && waiting.call.claim->once) shortest = std::min(shortest, waiting.call.claim->lease);
  }
  return shortest / 3;
}

// Another node may have got tasks under the token of a wait: then the worker does not listen there any more, or it has
// sent the call twice.
void Claimer::check_tokens(MonotonicTime now) {
  std::vector<Ticket> tickets;
  std::vector<Uuid> tokens;
  {
    const std::lock_guard lock(mutex_);
    if (is_resting_ || is_draining_ || next_check_ > now) return;
    for (const auto& [ticket, waiting] : waiting_) {
      if (waiting.is_asking || !waiting.call.claim || !waiting.call.claim->once) continue;
      tickets.push_back(ticket);
      tokens.push_back(waiting.call.claim->token);
    }
    if (tokens.empty()) return;
    next_check_ = now + check_every();
  }
  std::vector<bool> have_served;
  for (std::size_t from = 0; from < tokens.size(); from += kMaxBatch) {
    const auto served = tasks_.have_served(std::span(tokens).subspan(from, std::min(kMaxBatch, tokens.size() - from)));
    if (!served.ok()) return note_failure(served.error());
    have_served.insert(have_served.end(), served->begin(), served->end());
  }
  if (!HORAE_MUTANT("token_is_forgotten")) note_checked(tickets, have_served);
}

// One more claim under a token that has served returns all there is.
void Claimer::note_checked(const std::vector<Ticket>& tickets, const std::vector<bool>& have_served) {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      const auto each = waiting_.find(tickets[i]);
      if (each == waiting_.end() || each->second.is_asking) continue;
      each->second.is_fresh = false;
      if (have_served[i]) ask(tickets[i], todo);
    }
  }
  perform(std::move(todo));
}

// ---- Ends ----

void Claimer::end_waits(MonotonicTime now) {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    for (auto next = waiting_.begin(); next != waiting_.end();) {
      const auto each = next++;
      const auto& until = each->second.call.wait_until;
      if (is_draining_) {
        give_up(each, todo);
      } else if (until && *until <= now) {
        end_wait(each, todo);
      }
    }
  }
  perform(std::move(todo));
}

// At its deadline. A token that was not checked yet may hold tasks: one claim finds them.
void Claimer::end_wait(Waitings::iterator each, Todo& todo) {
  Waiting& waiting = each->second;
  waiting.call.wait_until.reset();
  if (waiting.is_asking) return;  // its answer ends it
  const bool must_claim = waiting.is_fresh || (waiting.is_uncertain && waiting.call.claim->once);
  if (must_claim && !is_resting_) return ask(each->first, todo);
  Answer said;
  if (waiting.is_uncertain || waiting.is_fresh || (waiting.call.claim && is_resting_ && is_away_)) said.tasks = away();
  if (waiting.is_uncertain && !waiting.call.claim->once) leftovers_.add(*waiting.call.claim);
  answer(each, std::move(said), todo);
}

void Claimer::release_leftovers() {
  std::vector<Settlement> releases;
  {
    const std::lock_guard lock(mutex_);
    if (is_releasing_ || is_resting_ || !leftovers_.has_releases()) return;
    is_releasing_ = true;
    releases = leftovers_.take_releases();
  }
  std::vector<Settlement> sent = releases;
  combiner_.settle(std::move(sent), [this, releases = std::move(releases)](const auto& outcomes) mutable {
    note_released(std::move(releases), outcomes);
  });
}

void Claimer::note_released(std::vector<Settlement> releases, const std::vector<Result<SettleOutcome>>& outcomes) {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    is_releasing_ = false;
    std::vector<Settlement> failed;
    for (std::size_t i = 0; i < releases.size(); ++i) {
      if (outcomes[i].ok() || !outcomes[i].error().retryable()) continue;
      rest(outcomes[i].error(), todo);
      failed.push_back(std::move(releases[i]));
    }
    leftovers_.put_back(std::move(failed));
  }
  perform(std::move(todo));
  release_leftovers();
}

// ---- When to run next ----

MonotonicTime Claimer::end_pass(MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  is_in_pass_ = false;
  MonotonicTime next = std::max(*next_poll_, now);
  if (is_resting_) {
    if (!retry_at_) retry_at_ = now + retry_in();
    next = std::min(next, *retry_at_);
  } else if (leftovers_.has_claims()) {
    next = now;  // there were too many for one pass
  }
  if (!attention_.empty()) next = std::min(next, now + kAttentionIsSwept);
  for (const auto& [ticket, waiting] : waiting_) next = std::min(next, next_for(waiting, now));
  next_pass_ = next;
  return next;
}

MonotonicTime Claimer::next_for(const Waiting& waiting, MonotonicTime now) const {
  if (waiting.is_asking || !waiting.call.wait_until) return MonotonicTime::max();
  if (waiting.is_uncertain && !is_resting_) return now;
  MonotonicTime next = *waiting.call.wait_until;
  if (waiting.call.claim && waiting.call.claim->once && !is_resting_) next = std::min(next, std::max(next_check_, now));
  return next;
}

}  // namespace horae
