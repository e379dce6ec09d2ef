// The nodes on one store: which are alive, and what a tick returns.

#include "tests/store_contract/contract.h"

namespace horae::testing {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Tick Cluster::tick(const std::string& node, std::vector<std::string> awaited, bool wants_events) {
  NodeRecord self{.id = node, .address = node + ".example:3369", .version = "1.2.3", .started_at = {}, .last_seen = {}};
  return value_of(
      cluster().tick({.self = std::move(self), .wants_events = wants_events, .awaited = std::move(awaited)}));
}

std::vector<std::string> Cluster::nodes() {
  std::vector<std::string> ids;
  for (const NodeRecord& each : value_of(cluster().nodes())) ids.push_back(each.id);
  return ids;
}

std::optional<std::size_t> Cluster::ahead(const TaskId& id, std::size_t most) {
  return value_of(cluster().ahead(id, most));
}

TEST_P(Cluster, ANodeAloneHasNoPeersAndNothingToDo) {
  const Tick answer = tick("worker-1", {kQueue});
  EXPECT_EQ(answer.now, now());
  EXPECT_EQ(answer.peers, 0U);
  EXPECT_FALSE(answer.peers_want_events);
  EXPECT_FALSE(answer.next_due_in);
  EXPECT_FALSE(answer.has_leases);
  EXPECT_THAT(answer.ready, IsEmpty());
}

TEST_P(Cluster, ATickNotesTheNodeAndWhenItWasSeen) {
  const Instant start = now();
  tick("worker-1");
  advance(1s);
  tick("worker-1");
  advance(300ms);
  EXPECT_THAT(value_of(cluster().nodes()), ElementsAre(NodeRecord{.id = "worker-1",
                                                                  .address = "worker-1.example:3369",
                                                                  .version = "1.2.3",
                                                                  .started_at = start,
                                                                  .last_seen = start + 1s}));
}

TEST_P(Cluster, ANodeMayLearnItsAddressLater) {
  const auto at = [this](const std::string& address) {
    (void)value_of(cluster().tick({.self = {.id = "worker-1", .address = address, .version = "1"}}));
    return value_of(cluster().nodes()).front().address;
  };
  EXPECT_EQ(at(""), "");
  EXPECT_EQ(at("127.0.0.1:3369"), "127.0.0.1:3369");
}

TEST_P(Cluster, PeersAreThoseSeenLately) {
  tick("worker-1");
  tick("worker-2");
  EXPECT_EQ(tick("worker-3").peers, 2U);
  advance(6s);
  tick("worker-2");
  EXPECT_EQ(tick("worker-3").peers, 2U);
  advance(6s);
  EXPECT_EQ(tick("worker-3").peers, 1U);
  EXPECT_THAT(nodes(), ElementsAre("worker-1", "worker-2", "worker-3"));
}

TEST_P(Cluster, OldNodesAreForgotten) {
  tick("worker-1");
  advance(kNodeIsForgottenAfter - 1s);
  tick("worker-2");
  advance(2s);
  EXPECT_THAT(nodes(), ElementsAre("worker-2"));
}

TEST_P(Cluster, ANodeThatLeftIsNoPeer) {
  tick("worker-1");
  tick("worker-2");
  EXPECT_TRUE(cluster().leave("worker-1").ok());
  EXPECT_TRUE(cluster().leave("worker-1").ok());
  EXPECT_EQ(tick("worker-2").peers, 0U);
  EXPECT_THAT(nodes(), ElementsAre("worker-2"));
}

TEST_P(Cluster, HintsAreWantedWhileAPeerThatIsThereWantsThem) {
  tick("worker-1", {}, true);
  EXPECT_FALSE(tick("worker-1", {}, true).peers_want_events);
  EXPECT_TRUE(tick("worker-2").peers_want_events);
  tick("worker-1", {}, false);
  EXPECT_FALSE(tick("worker-2").peers_want_events);
  tick("worker-1", {}, true);
  advance(kNodeIsGoneAfter + 1s);
  EXPECT_FALSE(tick("worker-2").peers_want_events);
}

TEST_P(Cluster, ATickReportsWhenTheNextTaskIsDue) {
  submit({.run_at = now() + 30s});
  submit({.run_at = now() + 10s});
  EXPECT_EQ(tick("worker-1").next_due_in, std::optional<Duration>(10s));
  advance(11s);
  EXPECT_EQ(tick("worker-1").next_due_in, std::optional<Duration>(0s));
  promote();
  EXPECT_EQ(tick("worker-1").next_due_in, std::optional<Duration>(19s));
}

TEST_P(Cluster, ATickReportsWhetherAnythingIsLeased) {
  const Lease lease = start();
  EXPECT_TRUE(tick("worker-1").has_leases);
  complete(lease);
  EXPECT_FALSE(tick("worker-1").has_leases);
}

TEST_P(Cluster, ATickReportsWhichAwaitedQueuesHaveReadyTasks) {
  submit({.queue = "b"});
  submit({.queue = "a"});
  submit({.queue = "other"});
  submit({.queue = "later", .run_at = now() + 1h});
  EXPECT_THAT(tick("worker-1", {"b", "a", "later", "unknown", "a"}).ready, ElementsAre("a", "b"));
  EXPECT_THAT(tick("worker-1").ready, IsEmpty());
  claim(kOwner, "a");
  EXPECT_THAT(tick("worker-1", {"a", "b"}).ready, ElementsAre("b"));
}

TEST_P(Cluster, PausedQueuesAndAStoppedSchedulerHaveNothingReady) {
  submit({.queue = "a"});
  submit({.queue = "b"});
  configure("a", {.paused = true});
  EXPECT_THAT(tick("worker-1", {"a", "b"}).ready, ElementsAre("b"));
  EXPECT_TRUE(value_of(queues().set_scheduler_running(false)));
  EXPECT_THAT(tick("worker-1", {"a", "b"}).ready, IsEmpty());
  EXPECT_TRUE(value_of(queues().set_scheduler_running(true)));
  configure("a", {.paused = false});
  EXPECT_THAT(tick("worker-1", {"a", "b"}).ready, ElementsAre("a", "b"));
}

TEST_P(Cluster, WhatIsAwaitedIsRemembered) {
  EXPECT_EQ(value_of(cluster().last_awaited("a")), std::nullopt);
  const Instant start = now();
  tick("worker-1", {"a", "b"});
  EXPECT_EQ(value_of(cluster().last_awaited("a")), start);
  advance(kAwaitedIsNotedEach);
  tick("worker-2", {"a"});
  EXPECT_EQ(value_of(cluster().last_awaited("a")), now());
  EXPECT_EQ(value_of(cluster().last_awaited("b")), start);
}

TEST_P(Cluster, AheadCountsInTheOrderOfClaims) {
  const auto usual = submit_many(3);
  const TaskId urgent = submit({.priority = 200});
  const TaskId idle = submit({.priority = 1});
  submit({.queue = "other", .priority = 255});
  EXPECT_EQ(ahead(urgent), 0U);
  EXPECT_EQ(ahead(idle), 4U);
  EXPECT_EQ(ahead(idle, 2), 2U);
  EXPECT_EQ(ahead(idle, 0), 0U);
  std::vector<std::size_t> places;
  for (const TaskId& id : usual) places.push_back(ahead(id).value());
  std::ranges::sort(places);
  EXPECT_THAT(places, ElementsAre(1U, 2U, 3U));
}

TEST_P(Cluster, AheadIsHowManyClaimsGiveFirst) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 40; ++i) {
    ids.push_back(submit({.priority = i * 37 % 11}));
    if (i % 7 == 0) advance(1s);
  }
  for (const TaskId& id : submit_many(100, {.priority = 5})) ids.push_back(id);
  claim_up_to(9);
  std::map<TaskId, std::optional<std::size_t>> answer;
  for (const TaskId& id : ids) answer[id] = ahead(id, 1'000);
  std::size_t place = 0;
  for (const TaskId& id : ids_of(claim_up_to(200))) EXPECT_EQ(answer[id], place++);
  EXPECT_EQ(place, 131U);
}

TEST_P(Cluster, NothingIsAheadOfATaskThatIsNotReady) {
  EXPECT_EQ(ahead(new_id()), std::nullopt);
  EXPECT_EQ(ahead(submit({.run_at = now() + 1h})), std::nullopt);
  EXPECT_EQ(ahead(start().id), std::nullopt);
}

TEST_P(Cluster, NodesTickSideBySide) {
  together(8, [this](int i) {
    for (int round = 0; round < 20; ++round) {
      std::vector<std::string> awaited = {"a", "b", "c", "d"};
      if (i % 2 == 0) std::ranges::reverse(awaited);
      tick("worker-" + std::to_string(i), awaited);
    }
  });
  EXPECT_EQ(nodes().size(), 8U);
}

}  // namespace horae::testing
