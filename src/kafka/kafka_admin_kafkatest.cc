#include "kafka/kafka_admin.h"

#include "tests/support/kafka_world.h"

namespace horae::testing {
namespace {

class KafkaAdminOf : public KafkaWorld {};

TEST_F(KafkaAdminOf, ReadsWhatConcernsSafety) {
  const std::string topic = broker_.make_topic(
      {.partitions = 3, .settings = {{"cleanup.policy", "compact"}, {"unclean.leader.election.enable", "true"}}});
  auto admin = KafkaAdmin::open({{"bootstrap.servers", broker_.address()}}, clock_, log_);
  ASSERT_TRUE(admin.ok()) << admin.error().message;
  const auto facts = admin->look(topic, 30s);
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_EQ(facts->partitions, 3);
  EXPECT_EQ(facts->min_insync_replicas, 1);
  EXPECT_EQ(facts->unclean_leader_election, true);
  EXPECT_EQ(facts->cleanup_policy, "compact");
  const auto missing = admin->look(broker_.new_name(), 30s);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

TEST_F(KafkaAdminOf, SaysThatNoBrokerAnswers) {
  auto admin = KafkaAdmin::open({{"bootstrap.servers", "127.0.0.1:1"}}, clock_, log_);
  ASSERT_TRUE(admin.ok()) << admin.error().message;
  const auto facts = admin->look("any", 200ms);
  ASSERT_FALSE(facts.ok());
  EXPECT_EQ(facts.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace horae::testing
