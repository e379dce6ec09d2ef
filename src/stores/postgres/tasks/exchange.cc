#include "stores/postgres/tasks/exchange.h"

#include <algorithm>
#include <utility>

#include "stores/postgres/tasks/insertion.h"
#include "stores/postgres/tasks/settle_batch.h"

namespace horae::postgres {
namespace {

std::map<int, std::int16_t> highest_priorities(const std::vector<NewEntry>& entries) {
  std::map<int, std::int16_t> highest;
  for (const NewEntry& entry : entries) {
    const auto priority = static_cast<std::int16_t>(entry.submission->task.priority);
    const auto [found, is_first] = highest.emplace(entry.queue, priority);
    if (!is_first) found->second = std::max(found->second, priority);
  }
  return highest;
}

}  // namespace

Result<BundleOutcome> Exchanger::exchange(const Bundle& calls) {
  auto parts = prepare(calls);
  if (!parts.ok()) return parts.error();
  Done done;
  if (const auto did = do_all(calls, *parts, done); !did.ok()) {
    const bool has_begun =
        (done.settled && !calls.settlements.empty()) || (done.submitted && !calls.submissions.empty());
    return has_begun ? unknown_outcome(did.error()) : did.error();
  }
  return BundleOutcome{std::move(*done.settled), std::move(*done.submitted), std::move(*done.leased)};
}

Result<Exchanger::Parts> Exchanger::prepare(const Bundle& calls) {
  Parts parts;
  parts.settles = !calls.settlements.empty();
  if (!calls.submissions.empty()) {
    auto entries = submitter_.prepare_new(calls.submissions);
    if (!entries.ok()) return entries.error();
    parts.entries = std::move(*entries);
    if (!parts.entries) parts.settles = false;  // settlements come before the transaction of such submissions
  }
  if (parts.settles) parts.changes = changes_of(calls.settlements, known_, names_);
  if (!calls.wishes.empty()) {
    auto claim = claimer_.part(calls.wishes);
    if (!claim.ok()) return claim.error();
    if (!claim->empty()) parts.claim = std::move(*claim);
  }
  return parts;
}

// Claims come last, so that they see the effects of settlements and submissions.
Result<void> Exchanger::do_all(const Bundle& calls, Parts& parts, Done& done) {
  const bool together = parts.count() > 1;
  if (!together || !parts.settles) {
    if (auto did = settle(calls, done); !did.ok()) return did;
  }
  if (!together || !parts.entries) {
    if (auto did = submit(calls, done); !did.ok()) return did;
  }
  if (together) {
    if (auto did = do_together(calls, parts, done); !did.ok()) return did;
  }
  // Parts that could not be done together: their transaction was rolled back.
  if (auto did = settle(calls, done); !did.ok()) return did;
  if (auto did = submit(calls, done); !did.ok()) return did;
  return claim(calls, done);
}

Result<void> Exchanger::settle(const Bundle& calls, Done& done) {
  if (done.settled) return {};
  auto outcomes = settler_.settle(calls.settlements);
  if (!outcomes.ok()) return outcomes.error();
  done.settled = std::move(*outcomes);
  return {};
}

Result<void> Exchanger::submit(const Bundle& calls, Done& done) {
  if (done.submitted) return {};
  auto outcomes = submitter_.submit(calls.submissions);
  if (!outcomes.ok()) return outcomes.error();
  done.submitted = std::move(*outcomes);
  return {};
}

Result<void> Exchanger::claim(const Bundle& calls, Done& done) {
  if (done.leased) return {};
  auto claimed = claimer_.claim(calls.wishes);
  if (!claimed.ok()) return claimed.error();
  done.leased = std::move(*claimed);
  return {};
}

// New tasks of the queues that are claimed from begin with the claim: what it takes need not be made ready first.
std::pair<Insertion::Begin, FreshTasks> Exchanger::place_fresh(const Parts& parts) const {
  FreshTasks fresh;
  if (!parts.entries) return {Insertion::Begin::kHere, std::move(fresh)};
  const std::vector<int>* queues = parts.claim ? parts.claim->only_queues() : nullptr;
  if (auto ranges = queues ? ready_ranges(*parts.entries, *queues) : std::nullopt) {
    fresh.beginning = std::move(*ranges);
    return {Insertion::Begin::kWithClaim, std::move(fresh)};
  }
  fresh.made_ready = highest_priorities(*parts.entries);
  return {Insertion::Begin::kHere, std::move(fresh)};
}

Result<void> Exchanger::do_together(const Bundle& calls, Parts& parts, Done& done) {
  const auto placed = place_fresh(parts);
  const bool waits = parts.settles && !parts.changes;
  const bool is_confirmed = waits && known_.confirm(calls.settlements);
  Settler::Outcomes settled;
  const auto body = [&](Transaction& transaction) -> Result<bool> {
    std::optional<KnownSettlements> simple;
    std::optional<SettleBatch> any;
    std::optional<Insertion> insertion;
    if (parts.changes) simple.emplace(transaction, calls.settlements, *parts.changes);
    if (waits) {
      if (!any.emplace(transaction, calls.settlements, is_confirmed).send()) return transaction.failure()->error;
      any->lower(floors_);
    }
    if (parts.entries) insertion.emplace(transaction, *parts.entries, placed.first);
    if (parts.claim) parts.claim->send(transaction, placed.second);
    if (auto committed = transaction.commit(); !committed.ok()) {
      if (Insertion::was_refused(*transaction.failure())) return false;
      return committed.error();
    }
    if (simple) settled = simple->read(known_);
    if (any) done.settled = any->read(floors_);
    if (insertion) {
      if (auto stored = insertion->check(); !stored.ok()) return unknown_outcome(stored.error());
      done.submitted = insertion->outcomes();
      insertion->remember(known_, floors_);
    }
    if (parts.claim) parts.claim->read(transaction);
    return true;
  };
  const auto repeat = parts.claim ? Repeat::kIfNothingHappened : Repeat::kAlways;  // by the ids and attempts
  const auto happened = waits ? pool_.transact<bool>(body, repeat) : pool_.transact_in_one_trip<bool>(body, repeat);
  if (!happened.ok()) return happened.error();
  if (!*happened) return {};
  // What found its lease changed is settled before the claims that it put off.
  if (parts.changes) {
    auto all = settler_.settle_rest(calls.settlements, std::move(settled));
    if (!all.ok()) return unknown_outcome(all.error());
    done.settled = std::move(*all);
  }
  // The tasks are leased: leases_of() finds them by the token.
  if (parts.claim) {
    auto claimed = claimer_.finish(calls.wishes, std::move(*parts.claim));
    if (!claimed.ok()) return unknown_outcome(claimed.error());
    done.leased = std::move(*claimed);
  }
  return {};
}

}  // namespace horae::postgres
