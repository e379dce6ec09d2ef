// What lies outside a caller's scope does not exist for that caller.

#include <algorithm>
#include <array>

#include "tests/store_contract/contract.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::array kScopedEvents = {Event::kHeartbeat, Event::kComplete, Event::kAbort, Event::kYield,
                                      Event::kRelease};
constexpr std::array kAllKinds = {ListKind::kScheduled, ListKind::kReady, ListKind::kRunning, ListKind::kFinished,
                                  ListKind::kAll};

// ---- Cancel ----

TEST_P(TaskScope, ATaskOutsideCannotBeCancelledWhereverItStands) {
  const TaskId ready = submit({.queue = "other"});
  const TaskId scheduled = submit({.queue = "other", .run_at = now() + 1h});
  const TaskId running = submit({.queue = "running"});
  (void)claim(kOwner, "running");
  const TaskId ended = submit({.queue = "ended"});
  (void)cancel(ended, "first");
  for (const TaskId& id : {ready, scheduled, running, ended}) {
    const Task before = get(id);
    EXPECT_THAT(value_of(tasks().cancel(std::vector<CancelWish>{{.id = id, .reason = "second", .scope = mine_}})),
                ElementsAre(CancelOutcome{.verdict = Verdict::kNotFound}));
    EXPECT_EQ(get(id), before);
  }
}

TEST_P(TaskScope, ATaskInsideIsCancelledWhereverItStands) {
  const TaskId ready = submit({.queue = "mail.a"});
  const TaskId scheduled = submit({.queue = "mail.b", .run_at = now() + 1h});
  const TaskId running = start().id;
  for (const TaskId& id : {ready, scheduled, running}) {
    const std::vector<CancelWish> wish = {{.id = id, .scope = mine_}};
    EXPECT_EQ(value_of(tasks().cancel(wish)).at(0).verdict, Verdict::kAccepted);
    EXPECT_EQ(value_of(tasks().cancel(wish)).at(0).verdict, Verdict::kRepeated);
    EXPECT_EQ(state_of(id), State::kCancelled);
  }
}

TEST_P(TaskScope, CancelsOfCallersWithOtherScopesShareABatch) {
  const TaskId mail = submit({.queue = "mail.a"});
  const TaskId other = submit({.queue = "other"});
  const Scope theirs = std::make_shared<const QueueScope>(scope_of({"oth*"}));
  const std::vector<CancelWish> wishes = {{.id = other, .reason = "mine", .scope = mine_},
                                          {.id = other, .reason = "theirs", .scope = theirs},
                                          {.id = other, .scope = mine_},
                                          {.id = mail, .scope = theirs},
                                          {.id = mail}};
  std::vector<Verdict> verdicts;
  for (const CancelOutcome& outcome : value_of(tasks().cancel(wishes))) verdicts.push_back(outcome.verdict);
  EXPECT_THAT(verdicts, ElementsAre(Verdict::kNotFound, Verdict::kAccepted, Verdict::kNotFound, Verdict::kNotFound,
                                    Verdict::kAccepted));
  EXPECT_EQ(get(other).cancel_reason, "theirs");
}

// ---- Settle ----

TEST_P(TaskScope, ATaskOutsideCannotBeSettled) {
  const Lease lease = start({.queue = "other"});
  const Task before = get(lease.id);
  advance(1s);
  for (const Event event : kScopedEvents) {
    for (const std::int64_t number : {std::int64_t{0}, lease.number}) {
      Settlement said = settlement(event, lease);
      said.number = number;
      said.progress = 0.5;
      said.scope = mine_;
      EXPECT_EQ(settle(said), SettleOutcome{}) << to_string(event);
    }
  }
  EXPECT_EQ(get(lease.id), before);
}

TEST_P(TaskScope, ATaskInsideIsSettled) {
  for (const Event event : kScopedEvents) {
    const std::string queue = "mail." + std::string(to_string(event));
    Settlement said = settlement(event, start({.queue = queue}));
    said.scope = mine_;
    EXPECT_EQ(settle(said).verdict, Verdict::kAccepted) << to_string(event);
  }
}

TEST_P(TaskScope, ALateResultFromOutsideLeavesNoEvidence) {
  const Lease lost = start({.queue = "other"});
  (void)lose_leases();
  const auto before = history_of(lost.id);
  for (const Event event : {Event::kComplete, Event::kAbort}) {
    Settlement late = settlement(event, lost);
    late.scope = mine_;
    EXPECT_EQ(settle(late).verdict, Verdict::kNotFound);
    EXPECT_EQ(history_of(lost.id), before);
  }
  EXPECT_EQ(complete(lost), Verdict::kWrongState);
  EXPECT_THAT(history_of(lost.id), SizeIs(before.size() + 1));
}

TEST_P(TaskScope, AWholeLeaseInsideIsCompletedAndOneOutsideIsNot) {
  for (const std::string queue : {"mail.a", "other"}) {
    (void)submit_many(3, {.queue = queue});
    std::vector<Settlement> said;
    for (const Lease& lease : claim_up_to(3, kOwner, {queue})) {
      said.push_back(settlement(Event::kComplete, lease));
      said.back().scope = mine_;
    }
    const Verdict expected = queue == "other" ? Verdict::kNotFound : Verdict::kAccepted;
    EXPECT_THAT(settle_all(said), ElementsAre(expected, expected, expected));
  }
  EXPECT_EQ(queue("other").running, 3);
}

TEST_P(TaskScope, SettlementsOfCallersWithOtherScopesShareABatch) {
  (void)submit_many(3, {.queue = "other"});
  const auto leases = claim_up_to(3, kOwner, {"other"});
  std::vector<Settlement> said;
  for (const Lease& lease : leases) said.push_back(settlement(Event::kComplete, lease));
  said[1].scope = mine_;
  said[2].scope = std::make_shared<const QueueScope>(scope_of({"*"}));
  EXPECT_THAT(settle_all(said), ElementsAre(Verdict::kAccepted, Verdict::kNotFound, Verdict::kAccepted));
  EXPECT_EQ(state_of(leases[1].id), State::kRunning);
}

// ---- Lists ----

TEST_P(TaskScope, EachListHasOnlyWhatIsInside) {
  std::vector<TaskId> inside;
  for (const std::string queue : {"mail.a", "other", kQueue}) {
    std::vector<TaskId> ids = {submit({.queue = queue, .run_at = now() + 1h})};
    ids.push_back(start({.queue = queue}).id);
    ids.push_back(submit({.queue = queue}));
    (void)cancel(ids.back());
    ids.push_back(submit({.queue = queue}));
    if (queue != "other") inside.insert(inside.begin(), ids.rbegin(), ids.rend());
  }
  EXPECT_THAT(ids_in({.kind = ListKind::kAll, .scope = mine_}), ElementsAreArray(inside));
  for (const ListKind kind : kAllKinds) {
    const auto listed = list_all({.kind = kind, .scope = mine_});
    EXPECT_THAT(listed, SizeIs(kind == ListKind::kAll ? 8 : 2));
    for (const Task& task : listed) EXPECT_NE(task.queue, "other");
  }
}

TEST_P(TaskScope, PagesAreFullAndGoOnWhereTheyEnded) {
  std::vector<TaskId> inside;
  for (int i = 0; i < 5; ++i) {
    for (const std::string queue : {"other", "mail.a", "another"}) {
      const TaskId id = submit({.queue = queue});
      if (queue == "mail.a") inside.push_back(id);
    }
  }
  for (const ListKind kind : {ListKind::kReady, ListKind::kAll}) {
    ListQuery query{.kind = kind, .limit = 2, .scope = mine_};
    std::vector<TaskId> listed;
    for (const std::size_t expected : {2U, 2U, 1U}) {
      const Page page = value_of(tasks().list(query));
      EXPECT_THAT(page.tasks, SizeIs(expected));
      for (const Task& task : page.tasks) listed.push_back(task.id);
      query.cursor = page.next;
    }
    EXPECT_EQ(query.cursor, "");
    if (kind == ListKind::kAll) std::ranges::reverse(listed);
    EXPECT_EQ(listed, inside);
  }
}

TEST_P(TaskScope, AQueueOutsideHasEmptyLists) {
  (void)submit({.queue = "other"});
  (void)submit({.queue = "mail.a"});
  for (const ListKind kind : kAllKinds) {
    const Page page = value_of(tasks().list({.kind = kind, .queue = "other", .scope = mine_}));
    EXPECT_THAT(page.tasks, IsEmpty());
    EXPECT_EQ(page.next, "");
    EXPECT_EQ(page.as_of, now());
  }
  EXPECT_THAT(list_all({.kind = ListKind::kReady, .queue = "mail.a", .scope = mine_}), SizeIs(1));
  EXPECT_THAT(list_all({.kind = ListKind::kAll, .queue = "mail.a", .scope = mine_}), SizeIs(1));
}

TEST_P(TaskScope, AScopeThatFitsNoQueueSeesNothing) {
  (void)submit();
  const Scope nothing = std::make_shared<const QueueScope>(scope_of({"none.*"}));
  for (const ListKind kind : kAllKinds) EXPECT_THAT(list_all({.kind = kind, .scope = nothing}), IsEmpty());
}

}  // namespace
}  // namespace horae::testing
