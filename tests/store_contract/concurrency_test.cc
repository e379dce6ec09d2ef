// Many callers at once: nothing is given twice, and of two calls that race exactly one wins and the other is refused.

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::UnorderedElementsAre;

constexpr int kThreads = 8;
constexpr std::size_t kRaces = 100;

TEST_P(Concurrency, ManyClaimersNeverShareAnAttempt) {
  constexpr std::size_t kTasks = 20'000;
  const auto ids = submit_many(kTasks);
  std::mutex mutex;
  std::set<std::pair<TaskId, int>> given;  // guarded by mutex
  std::atomic<std::size_t> completed = 0;

  // Each worker claims until nothing is left, yields each first attempt at a task with an even number, and completes
  // the rest, so that tasks come back while other workers claim. A worker that finds nothing while another still holds
  // tasks may end: the one that gives a task back claims again.
  together(kThreads, [&](int thread) {
    const std::string owner = "worker-" + std::to_string(thread);
    for (;;) {
      const auto leases = claim_up_to(250, owner);
      if (leases.empty()) return;
      std::vector<Settlement> said;
      for (const Lease& lease : leases) {
        const bool give_back = lease.attempt == 1 && lease.number % 2 == 0;
        said.push_back(settlement(give_back ? Event::kYield : Event::kComplete, lease));
      }
      const auto verdicts = settle_all(said);
      const std::lock_guard lock(mutex);
      for (std::size_t i = 0; i < leases.size(); ++i) {
        EXPECT_TRUE(given.insert({leases[i].id, leases[i].attempt}).second) << "given twice";
        EXPECT_EQ(verdicts[i], Verdict::kAccepted);
        if (said[i].event == Event::kComplete) ++completed;
      }
    }
  });
  EXPECT_EQ(completed, kTasks);
  EXPECT_EQ(queue().ready + queue().running, 0);
}

TEST_P(Concurrency, AThousandSubmitsOfOneKeyMakeOneTask) {
  const NewTask request{.key = "k", .queue = kQueue, .spec = "{}"};
  std::mutex mutex;
  std::vector<SubmitOutcome> outcomes;  // guarded by mutex
  together(kThreads, [&](int) {
    for (int i = 0; i < 125; ++i) {
      const SubmitOutcome outcome = try_submit(request);
      const std::lock_guard lock(mutex);
      outcomes.push_back(outcome);
    }
  });
  ASSERT_EQ(outcomes.size(), 1'000U);
  std::size_t created = 0;
  for (const SubmitOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.id, outcomes[0].id);
    EXPECT_EQ(outcome.number, outcomes[0].number);
    if (outcome.kind == SubmitOutcome::Kind::kCreated) {
      ++created;
    } else {
      EXPECT_EQ(outcome.kind, SubmitOutcome::Kind::kPresent);
    }
  }
  EXPECT_EQ(created, 1U);
  EXPECT_EQ(claim_up_to(10).size(), 1U);
}

TEST_P(Concurrency, DifferentRequestsUnderOneKeyMakeOneTaskAndConflicts) {
  std::mutex mutex;
  std::map<std::string, std::set<TaskId>> named;  // guarded by mutex
  std::atomic<std::size_t> created = 0;
  std::atomic<std::size_t> conflicts = 0;
  together(kThreads, [&](int thread) {
    for (std::size_t i = 0; i < kRaces; ++i) {
      const std::string key = "k" + std::to_string(i);
      const SubmitOutcome outcome = try_submit({.key = key, .priority = thread});
      if (outcome.kind == SubmitOutcome::Kind::kCreated) ++created;
      if (outcome.kind == SubmitOutcome::Kind::kConflict) ++conflicts;
      const std::lock_guard lock(mutex);
      named[key].insert(outcome.id);
    }
  });
  EXPECT_EQ(created, kRaces);
  EXPECT_EQ(conflicts, kRaces * (kThreads - 1));
  for (const auto& [key, ids] : named) EXPECT_EQ(ids.size(), 1U) << key;
  EXPECT_EQ(queue().ready, static_cast<std::int64_t>(kRaces));
}

TEST_P(Concurrency, ManySubmittersInManyQueuesLoseNothing) {
  std::mutex mutex;
  std::set<std::int64_t> numbers;  // guarded by mutex
  together(kThreads, [&](int thread) {
    for (int round = 0; round < 5; ++round) {
      std::vector<Submission> batch;
      for (int i = 0; i < 50; ++i) batch.push_back(submission({.queue = "q" + std::to_string((thread + i) % 4)}));
      const auto outcomes = submit_all(batch);
      const std::lock_guard lock(mutex);
      for (const SubmitOutcome& outcome : outcomes) EXPECT_TRUE(numbers.insert(outcome.number).second);
    }
  });
  EXPECT_EQ(numbers.size(), 2'000U);
  std::int64_t ready = 0;
  const QueueList list = value_of(queues().queues());
  for (const QueueInfo& info : list.queues) ready += info.ready;
  EXPECT_EQ(ready, 2'000);
}

TEST_P(Concurrency, WorkerIdsAreNeverSharedEither) {
  std::mutex mutex;
  std::set<std::string> given;  // guarded by mutex
  together(kThreads, [&](int) {
    for (int i = 0; i < 10; ++i) {
      const std::string id = value_of(queues().new_worker_id());
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(given.insert(id).second) << id;
    }
  });
}

// ---- Races: two callers meet on one task after the other ----

TEST_P(Concurrency, CancelAgainstClaim) {
  const auto ids = submit_many(kRaces);
  std::vector<Lease> leases;
  race(
      kRaces, [&](std::size_t i) { EXPECT_EQ(cancel(ids[i]), Verdict::kAccepted); },
      [&](std::size_t) {
        for (const Lease& lease : claim_up_to(1)) leases.push_back(lease);
      });
  // An owner that claimed before the cancel gets kCancelled.
  for (const Lease& lease : leases) EXPECT_EQ(complete(lease), Verdict::kCancelled);
  for (const TaskId& id : ids) {
    const bool claimed = std::ranges::any_of(leases, [&](const Lease& lease) { return lease.id == id; });
    EXPECT_EQ(state_of(id), State::kCancelled);
    EXPECT_EQ(get(id).attempt, claimed ? 1 : 0);
  }
}

TEST_P(Concurrency, CancelAgainstComplete) {
  (void)submit_many(kRaces);
  const auto leases = claim_up_to(kRaces);
  std::vector<Verdict> cancels(kRaces);
  std::vector<Verdict> completes(kRaces);
  race(
      kRaces, [&](std::size_t i) { cancels[i] = cancel(leases[i].id); },
      [&](std::size_t i) { completes[i] = complete(leases[i]); });
  for (std::size_t i = 0; i < kRaces; ++i) {
    const bool cancelled = cancels[i] == Verdict::kAccepted;
    EXPECT_EQ(cancels[i], cancelled ? Verdict::kAccepted : Verdict::kWrongState);
    EXPECT_EQ(completes[i], cancelled ? Verdict::kCancelled : Verdict::kAccepted);
    EXPECT_EQ(state_of(leases[i].id), cancelled ? State::kCancelled : State::kCompleted);
  }
}

// Either the queue stays, or the submission makes it again.
TEST_P(Concurrency, SubmitAgainstTheEndOfTheQueue) {
  const auto name_of = [](std::size_t i) { return "q" + std::to_string(i); };
  for (std::size_t i = 0; i < kRaces; ++i) configure(name_of(i), {});
  std::vector<TaskId> ids(kRaces);
  race(
      kRaces, [&](std::size_t i) { ids[i] = submit({.queue = name_of(i)}); },
      [&](std::size_t i) { (void)queues().remove(name_of(i), 10); });
  for (std::size_t i = 0; i < kRaces; ++i) EXPECT_EQ(claim(kOwner, name_of(i)).id, ids[i]);
}

TEST_P(Concurrency, ExpireAgainstHeartbeat) {
  (void)submit_many(kRaces);
  const auto leases = claim_up_to(kRaces);
  extend_leases();
  advance(11s);
  std::set<TaskId> expired;
  std::vector<Verdict> beats(kRaces);
  race(
      kRaces,
      [&](std::size_t) {
        for (const ExpiredLease& lease : expire(1).expired) EXPECT_TRUE(expired.insert(lease.id).second);
      },
      [&](std::size_t i) { beats[i] = heartbeat(leases[i]); });
  for (std::size_t i = 0; i < kRaces; ++i) {
    const bool was_expired = expired.contains(leases[i].id);
    EXPECT_EQ(beats[i], was_expired ? Verdict::kWrongState : Verdict::kAccepted);
    EXPECT_EQ(state_of(leases[i].id), was_expired ? State::kReady : State::kRunning);
  }
}

TEST_P(Concurrency, ExpireAgainstComplete) {
  (void)submit_many(kRaces);
  const auto leases = claim_up_to(kRaces);
  extend_leases();
  advance(11s);
  std::set<TaskId> expired;
  std::vector<Verdict> completes(kRaces);
  race(
      kRaces,
      [&](std::size_t) {
        for (const ExpiredLease& lease : expire(1).expired) EXPECT_TRUE(expired.insert(lease.id).second);
      },
      [&](std::size_t i) { completes[i] = complete(leases[i]); });
  for (std::size_t i = 0; i < kRaces; ++i) {
    const bool was_expired = expired.contains(leases[i].id);
    EXPECT_EQ(completes[i], was_expired ? Verdict::kWrongState : Verdict::kAccepted);
    EXPECT_EQ(state_of(leases[i].id), was_expired ? State::kReady : State::kCompleted);
  }
}

TEST_P(Concurrency, TwoCompletesOfOneAttempt) {
  (void)submit_many(kRaces);
  const auto leases = claim_up_to(kRaces);
  std::vector<Verdict> mine(kRaces);
  std::vector<Verdict> theirs(kRaces);
  race(
      kRaces, [&](std::size_t i) { mine[i] = complete(leases[i]); },
      [&](std::size_t i) { theirs[i] = complete(leases[i]); });
  for (std::size_t i = 0; i < kRaces; ++i) {
    EXPECT_THAT((std::vector{mine[i], theirs[i]}), UnorderedElementsAre(Verdict::kAccepted, Verdict::kRepeated));
  }
}

TEST_P(Concurrency, CompleteAgainstAbortOfOneAttempt) {
  (void)submit_many(kRaces);
  const auto leases = claim_up_to(kRaces);
  std::vector<Verdict> completes(kRaces);
  std::vector<Verdict> aborts(kRaces);
  race(
      kRaces, [&](std::size_t i) { completes[i] = complete(leases[i]); },
      [&](std::size_t i) { aborts[i] = abort(leases[i]); });
  for (std::size_t i = 0; i < kRaces; ++i) {
    EXPECT_THAT((std::vector{completes[i], aborts[i]}), UnorderedElementsAre(Verdict::kAccepted, Verdict::kWrongState));
    EXPECT_EQ(state_of(leases[i].id), is_success(completes[i]) ? State::kCompleted : State::kAborted);
  }
}

TEST_P(Concurrency, OfTwoAttemptsOnlyTheNewestCompletes) {
  (void)submit_many(kRaces);
  const auto late = claim_up_to(kRaces, "worker-1");
  (void)lose_leases();
  const auto fresh = claim_up_to(kRaces, "worker-2");
  ASSERT_EQ(fresh.size(), kRaces);
  race(
      kRaces, [&](std::size_t i) { EXPECT_EQ(complete(late[i]), Verdict::kStaleAttempt); },
      [&](std::size_t i) { EXPECT_EQ(complete(fresh[i]), Verdict::kAccepted); });
  for (const Lease& lease : fresh) {
    EXPECT_EQ(get(lease.id).owner, "worker-2");
    EXPECT_EQ(newest_entry_of(lease.id).kind, HistoryKind::kLateResult);
  }
}

TEST_P(Concurrency, TwoPromotersPromoteEachTaskOnce) {
  (void)submit_many(kRaces, {.run_at = now() + 1s});
  advance(1s);
  std::atomic<std::size_t> promoted = 0;
  const auto promote_one = [&](std::size_t) { promoted += promote(1).promoted; };
  race(kRaces, promote_one, promote_one);
  EXPECT_EQ(promoted, kRaces);
  EXPECT_EQ(claim_up_to(static_cast<int>(kMaxBatch)).size(), kRaces);
}

TEST_P(Concurrency, TwoMonitorsExpireEachLeaseOnce) {
  (void)submit_many(kRaces);
  (void)claim_up_to(kRaces);
  extend_leases();
  advance(11s);
  std::mutex mutex;
  std::set<TaskId> expired;  // guarded by mutex
  together(2, [&](int) {
    for (std::size_t i = 0; i < 2 * kRaces && look().has_leases; ++i) {
      const auto some = expire(7).expired;
      const std::lock_guard lock(mutex);
      for (const ExpiredLease& lease : some) EXPECT_TRUE(expired.insert(lease.id).second);
    }
  });
  EXPECT_EQ(expired.size(), kRaces);
}

TEST_P(Concurrency, TwoNodesReadyEachMessageOnce) {
  std::vector<NewMessage> sent;
  for (std::size_t i = 0; i < kRaces; ++i) sent.push_back({{.id = std::to_string(i), .deadline = now()}});
  (void)value_of(messages().enqueue({.delay_queue = "delay", .stores_late = true, .messages = sent}));
  std::mutex mutex;
  std::set<std::string> readied;  // guarded by mutex
  together(2, [&](int) {
    const Uuid node = new_id();
    for (;;) {
      const auto some = value_of(messages().turn({.delay_queue = "delay", .node = node, .ready = {3, 1000}})).readied;
      if (some.empty()) return;
      const std::lock_guard lock(mutex);
      for (const ReadiedMessage& each : some) {
        EXPECT_TRUE(readied.insert(each.message.id).second);
        EXPECT_EQ(each.readying.readied_by, node);
      }
    }
  });
  EXPECT_EQ(readied.size(), kRaces);
}

TEST_P(Concurrency, AReaderSeesEachTaskWhole) {
  const TaskId id = submit();
  race(
      kRaces, [&](std::size_t) { (void)yield(claim()); },
      [&](std::size_t) {
        const Task task = get(id);  // a task that moves is never nowhere
        EXPECT_EQ(task.owner.has_value(), task.state == State::kRunning);
        EXPECT_EQ(task.lease_expires.has_value(), task.state == State::kRunning);
        EXPECT_EQ(task.history.entries().size() + task.history.omitted(),
                  static_cast<std::size_t>(task.attempt) * 2 - (task.state == State::kRunning ? 1 : 0));
      });
}

}  // namespace
}  // namespace horae::testing
