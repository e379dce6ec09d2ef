#include "tests/postgres/answered.h"

#include <algorithm>
#include <set>
#include <utility>

namespace horae::testing {
namespace {

std::optional<Holding> holding(const Seen& seen) {
  if (!seen.exists) return std::nullopt;
  return Holding{seen.state, seen.attempt, seen.state == State::kRunning ? seen.owner : "", seen.ended};
}

void end_attempt(Seen& seen, State next, Event event) {
  seen.ended = AttemptEnd{event, seen.owner};
  seen.state = next;
  if (!is_terminal(next)) seen.owner.clear();
}

// Of a task that is tried again after an abort, and does not recur.
State state_after(Event event) {
  if (event == Event::kComplete) return State::kCompleted;
  return event == Event::kAbort ? State::kScheduled : State::kReady;
}

bool settle(Seen& seen, const Settlement& said, const SettleOutcome& outcome) {
  const Verdict verdict = judge(holding(seen), said.event, said.attempt, said.owner);
  if (verdict != outcome.verdict) return false;
  if (verdict == Verdict::kAccepted && said.event != Event::kHeartbeat) {
    end_attempt(seen, state_after(said.event), said.event);
  }
  return !seen.exists || (outcome.state == seen.state && outcome.attempt == seen.attempt);
}

bool cancel(Seen& seen, const CancelOutcome& outcome) {
  if (!seen.exists) return outcome.verdict == Verdict::kNotFound;
  if (is_terminal(seen.state)) {
    const bool repeated = seen.state == State::kCancelled;
    return outcome.verdict == (repeated ? Verdict::kRepeated : Verdict::kWrongState) && outcome.state == seen.state;
  }
  if (seen.state == State::kRunning) seen.ended = AttemptEnd{Event::kCancel, seen.owner};
  seen.state = State::kCancelled;
  return outcome.verdict == Verdict::kAccepted && outcome.state == State::kCancelled;
}

template <typename T>
Answered failure_of(const Result<T>& answer) {
  Answered answered;
  answered.error = answer.error();
  return answered;
}

// One possible order: which call came first, and which tasks the moves without a name met.
struct Way {
  bool second_comes_first = false;
  bool first_moves = false;
  bool second_moves = false;
};

bool happens(const Answered& answered, bool moves, const TaskId& id, Seen& seen) {
  if (moves && !answered.moves(seen)) return false;
  const auto facts = answered.facts.find(id);
  if (facts == answered.facts.end()) return true;
  return std::ranges::all_of(facts->second, [&](const Fact& fact) { return fact(seen); });
}

bool agrees(const Seen& seen, const std::map<TaskId, Stand>& after, const TaskId& id) {
  const auto stand = after.find(id);
  if (stand == after.end()) return !seen.exists;
  return seen.exists && Stand{seen.state, seen.attempt, seen.owner} == stand->second;
}

std::string describe(const TaskId& id, const Seen& before, const std::map<TaskId, Stand>& after) {
  std::string text = to_string(id) + ": was ";
  text += before.exists ? std::string(to_string(before.state)) + " " + std::to_string(before.attempt) : "absent";
  const auto stand = after.find(id);
  if (stand == after.end()) return text + ", is absent";
  return text + ", is " + std::string(to_string(stand->second.state)) + " " + std::to_string(stand->second.attempt) +
         " " + stand->second.owner;
}

}  // namespace

Answered answered_submit(const std::vector<Submission>& asked, const Result<std::vector<SubmitOutcome>>& answer,
                         const std::map<std::string, TaskId>& keys) {
  if (!answer.ok()) return failure_of(answer);
  Answered answered;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const SubmitOutcome& outcome = (*answer)[i];
    if (outcome.kind == SubmitOutcome::Kind::kCreated) {
      answered.facts[outcome.id].push_back([](Seen& seen) {
        return !std::exchange(seen, {.exists = true, .state = State::kReady, .owner = {}, .ended = {}}).exists;
      });
      // A key is free only when the task that had it is gone.
      const auto holder = asked[i].task.key ? keys.find(*asked[i].task.key) : keys.end();
      if (holder != keys.end()) answered.facts[holder->second].push_back([](Seen& seen) { return !seen.exists; });
    } else {
      const bool present = outcome.kind == SubmitOutcome::Kind::kPresent;
      answered.facts[outcome.id].push_back(
          [present, state = outcome.state](Seen& seen) { return present && seen.exists && seen.state == state; });
    }
  }
  return answered;
}

Answered answered_claim(const ClaimWish& asked, const Result<std::vector<ClaimOutcome>>& answer) {
  if (!answer.ok()) return failure_of(answer);
  Answered answered;
  answered.found_nothing = (*answer)[0].tasks.empty();
  for (const LeasedTask& lease : (*answer)[0].tasks) {
    answered.facts[lease.id].push_back([owner = asked.owner, attempt = lease.attempt](Seen& seen) {
      if (!seen.exists || seen.state != State::kReady || attempt != seen.attempt + 1) return false;
      seen.state = State::kRunning;
      seen.attempt = attempt;
      seen.owner = owner;
      return true;
    });
  }
  return answered;
}

Answered answered_settle(const std::vector<Settlement>& asked, const Result<std::vector<SettleOutcome>>& answer) {
  if (!answer.ok()) return failure_of(answer);
  Answered answered;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    answered.facts[asked[i].id].push_back(
        [said = asked[i], outcome = (*answer)[i]](Seen& seen) { return settle(seen, said, outcome); });
  }
  return answered;
}

Answered answered_cancel(const std::vector<CancelWish>& asked, const Result<std::vector<CancelOutcome>>& answer) {
  if (!answer.ok()) return failure_of(answer);
  Answered answered;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    answered.facts[asked[i].id].push_back([outcome = (*answer)[i]](Seen& seen) { return cancel(seen, outcome); });
  }
  return answered;
}

Answered answered_expire(const Result<ExpireOutcome>& answer) {
  if (!answer.ok()) return failure_of(answer);
  Answered answered;
  for (const ExpiredLease& lease : answer->expired) {
    answered.facts[lease.id].push_back([lease](Seen& seen) {
      if (seen.state != State::kRunning || seen.attempt != lease.attempt || seen.owner != lease.owner) return false;
      end_attempt(seen, State::kReady, Event::kExpire);
      return true;
    });
  }
  return answered;
}

// It changes the state of no task.
Answered answered_extend(const Result<bool>& answer) { return answer.ok() ? Answered() : failure_of(answer); }

Answered answered_promote(const Result<PromoteOutcome>& answer) {
  if (!answer.ok()) return failure_of(answer);
  Answered answered;
  answered.moved = answer->promoted;
  answered.moves = [](Seen& seen) {
    if (!seen.exists || seen.state != State::kScheduled || !seen.is_due) return false;
    seen.state = State::kReady;
    return true;
  };
  return answered;
}

Answered answered_purge(const Result<PurgeOutcome>& answer) {
  if (!answer.ok()) return failure_of(answer);
  Answered answered;
  answered.moved = answer->purged;
  answered.moves = [](Seen& seen) {
    if (!seen.exists || !is_terminal(seen.state) || !seen.is_purgeable) return false;
    seen = {};
    return true;
  };
  return answered;
}

Answered answered_get(const std::vector<TaskId>& asked, const Result<std::vector<std::optional<Task>>>& answer) {
  if (!answer.ok()) return failure_of(answer);
  Answered answered;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    answered.facts[asked[i]].push_back([task = (*answer)[i]](Seen& seen) {
      if (!task) return !seen.exists;
      return seen.exists && seen.state == task->state && seen.attempt == task->attempt &&
             seen.owner == task->owner.value_or("");
    });
  }
  return answered;
}

void add_to(Answered& answered, Answered next) {
  for (auto& [id, facts] : next.facts) {
    auto& all = answered.facts[id];
    all.insert(all.end(), facts.begin(), facts.end());
  }
  answered.moves = next.moves;
  answered.moved = next.moved;
  answered.found_nothing = next.found_nothing;
}

std::vector<std::string> contradictions(const std::map<TaskId, Seen>& before, const Answered& first,
                                        const Answered& second, const std::map<TaskId, Stand>& after) {
  std::set<TaskId> ids;
  for (const auto& [id, seen] : before) ids.insert(id);
  for (const auto& [id, stand] : after) ids.insert(id);
  for (const Answered* answered : {&first, &second}) {
    for (const auto& [id, facts] : answered->facts) ids.insert(id);
  }
  std::vector<std::string> wrong;
  std::size_t fewest_moves = 0;
  std::size_t most_moves = 0;
  for (const TaskId& id : ids) {
    const auto found = before.find(id);
    const Seen start = found == before.end() ? Seen() : found->second;
    std::set<std::size_t> moves;
    for (unsigned bits = 0; bits < 8; ++bits) {
      const Way way{(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0};
      if ((way.first_moves && !first.moves) || (way.second_moves && !second.moves)) continue;
      Seen seen = start;
      const auto one = [&] { return happens(first, way.first_moves, id, seen); };
      const auto other = [&] { return happens(second, way.second_moves, id, seen); };
      const bool possible = way.second_comes_first ? other() && one() : one() && other();
      if (possible && agrees(seen, after, id)) moves.insert((way.first_moves ? 1 : 0) + (way.second_moves ? 1 : 0));
    }
    if (moves.empty()) {
      wrong.push_back(describe(id, start, after));
      continue;
    }
    fewest_moves += *moves.begin();
    most_moves += *moves.rbegin();
  }
  const std::size_t moved = first.moved + second.moved;
  if (moved < fewest_moves || moved > most_moves) {
    wrong.push_back(std::to_string(moved) + " tasks were moved by their own account, but " +
                    std::to_string(fewest_moves) + " to " + std::to_string(most_moves) + " were");
  }
  return wrong;
}

}  // namespace horae::testing
