#include "kafka/kafka_admin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr bool kClean = false;

TEST(TopicWarnings, NameWhatMayLoseMessages) {
  const TopicFacts facts{
      .partitions = 1, .min_insync_replicas = 1, .unclean_leader_election = true, .cleanup_policy = "compact"};
  EXPECT_THAT(topic_warnings("in", TopicRole::kInput, facts),
              ElementsAre(HasSubstr("unclean.leader.election.enable"), HasSubstr("min.insync.replicas is 1"),
                          HasSubstr("cleanup.policy is compact")));
  EXPECT_THAT(topic_warnings("out", TopicRole::kOutput, facts),
              ElementsAre(HasSubstr("unclean.leader.election.enable"), HasSubstr("min.insync.replicas is 1")));
}

TEST(TopicWarnings, SayNothingOfASafeTopicOrOneThatIsNotKnown) {
  EXPECT_THAT(
      topic_warnings(
          "in", TopicRole::kInput,
          {.partitions = 1, .min_insync_replicas = 2, .unclean_leader_election = kClean, .cleanup_policy = "delete"}),
      IsEmpty());
  EXPECT_THAT(topic_warnings("in", TopicRole::kInput, {}), IsEmpty());
}

}  // namespace
}  // namespace horae
