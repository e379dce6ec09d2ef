#include "kafka/kafka_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string fault_of(const std::string& name, const std::string& value) {
  const auto checked = check_kafka_setting(name, value);
  return checked.ok() ? "" : checked.error().message;
}

TEST(KafkaSettings, AcceptWhatLibrdkafkaAccepts) {
  EXPECT_EQ(fault_of("bootstrap.servers", "a:9092,b:9092"), "");
  EXPECT_EQ(fault_of("security.protocol", "sasl_ssl"), "");
  EXPECT_EQ(fault_of("sasl.password", "hunter2"), "");
  EXPECT_EQ(fault_of("session.timeout.ms", "10000"), "");
  EXPECT_EQ(fault_of("compression.codec", "lz4"), "");
}

TEST(KafkaSettings, RefuseByNameWhatSafetyRestsOn) {
  for (const char* name :
       {"enable.auto.commit", "enable.auto.offset.store", "auto.offset.reset", "acks", "enable.idempotence",
        "message.timeout.ms", "group.id", "partitioner", "allow.auto.create.topics", "partition.assignment.strategy",
        "transactional.id", "max.in.flight", "retries"}) {
    EXPECT_THAT(fault_of(name, "1"), HasSubstr("cannot be set")) << name;
  }
}

TEST(KafkaSettings, NameWhatLibrdkafkaDoesNotHave) {
  EXPECT_THAT(fault_of("bootstrap.server", "a"), HasSubstr("no setting of librdkafka"));
  EXPECT_THAT(fault_of("session.timeout.ms", "soon"), HasSubstr("refused by librdkafka"));
}

TEST(KafkaSettings, NeverRepeatASecret) {
  EXPECT_TRUE(is_secret_kafka_setting("sasl.password"));
  EXPECT_TRUE(is_secret_kafka_setting("ssl.key.pem"));
  EXPECT_TRUE(is_secret_kafka_setting("ssl.keystore.password"));
  EXPECT_FALSE(is_secret_kafka_setting("bootstrap.servers"));
  EXPECT_THAT(fault_of("ssl.key.password.typo", "hunter2"), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace horae
