#include "stores/postgres/tasks/exchange.h"

#include <algorithm>
#include <utility>

#include "stores/postgres/tasks/insertion.h"

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
  if (!calls.settlements.empty()) parts.leases = whole_leases(calls.settlements, known_);
  if (!calls.submissions.empty()) {
    auto entries = submitter_.prepare_new(calls.submissions);
    if (!entries.ok()) return entries.error();
    parts.entries = std::move(*entries);
    if (!parts.entries) parts.leases.reset();  // such a submission is a transaction of its own, after the settlements
  }
  if (!calls.wishes.empty()) {
    auto claim = claimer_.part(calls.wishes);
    if (!claim.ok()) return claim.error();
    parts.claim = std::move(*claim);
  }
  return parts;
}

// Claims come last, so that they see the effects of settlements and submissions.
Result<void> Exchanger::do_all(const Bundle& calls, Parts& parts, Done& done) {
  const bool together = parts.are_several();
  if (!together || !parts.leases) {
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

// New tasks of the only queue that is claimed from begin with the claim: what it takes need not be made ready first.
Result<void> Exchanger::do_together(const Bundle& calls, Parts& parts, Done& done) {
  const auto only_queue = parts.claim ? parts.claim->only_queue() : std::nullopt;
  FreshTasks fresh;
  auto begin = Insertion::Begin::kHere;
  if (parts.entries) {
    if (auto ranges = only_queue ? ready_ranges(*parts.entries, *only_queue) : std::nullopt) {
      begin = Insertion::Begin::kWithClaim;
      fresh.beginning = std::move(*ranges);
    } else {
      fresh.made_ready = highest_priorities(*parts.entries);
    }
  }
  const auto body = [&](Transaction& transaction) -> Result<bool> {
    if (parts.leases) send_completion(transaction, *parts.leases);
    std::optional<Insertion> insertion;
    if (parts.entries) insertion.emplace(transaction, *parts.entries, begin);
    if (parts.claim) parts.claim->send(transaction, fresh);
    if (auto committed = transaction.commit(); !committed.ok()) {
      const Failure& failure = *transaction.failure();
      if (failure.unmet()) known_.forget_leases(calls.settlements);
      if (failure.unmet() || Insertion::was_refused(failure)) return false;
      return committed.error();
    }
    if (parts.leases) {
      done.settled = completed_outcomes(calls.settlements);
      known_.forget_leases(calls.settlements);
    }
    if (insertion) {
      if (auto stored = insertion->check(); !stored.ok()) return unknown_outcome(stored.error());
      done.submitted = insertion->outcomes();
      insertion->remember(known_, floors_);
    }
    if (parts.claim) parts.claim->read(transaction);
    return true;
  };
  const bool waits = parts.claim && !only_queue;
  const auto repeat = parts.claim ? Repeat::kIfNothingHappened : Repeat::kAlways;  // by the ids and attempts
  const auto happened = waits ? pool_.transact<bool>(body, repeat) : pool_.transact_in_one_trip<bool>(body, repeat);
  if (!happened.ok()) return happened.error();
  if (!*happened || !parts.claim) return {};
  auto claimed = parts.claim->finish();
  if (!claimed.ok())
    return unknown_outcome(claimed.error());  // the tasks are leased: leases_of() finds them by the token
  done.leased = std::move(*claimed);
  return {};
}

}  // namespace horae::postgres
