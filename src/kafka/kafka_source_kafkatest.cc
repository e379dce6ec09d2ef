#include "kafka/kafka_source.h"

#include <string>

#include "tests/support/kafka_world.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class KafkaSourceWith : public KafkaWorld {
 protected:
  std::string topic_ = broker_.make_topic();
  std::string group_ = broker_.new_name();
};

TEST_F(KafkaSourceWith, KeepsEveryByteAndTellsNullFromEmpty) {
  const std::string binary("\0\xff\x80 \n\r\0", 7);
  const std::string topic = broker_.make_topic({.settings = {{"max.message.bytes", "3000000"}}});
  const std::string large(1 << 20, 'x');
  KafkaSender sender(broker_.address());
  sender.send(topic, {.key = binary, .value = binary, .headers = {{"h", binary}}, .partition = 0});
  sender.send(topic, {.key = Bytes(), .value = Bytes(), .headers = {{"null", Bytes()}}, .partition = 0});
  sender.send(topic, {.key = "", .value = "", .headers = {{"empty", ""}}, .partition = 0});
  sender.send(topic, {.value = large, .headers = {{"a", "2"}, {"b", "1"}, {"a", "1"}, {"a", "2"}}, .partition = 0});
  sender.flush();
  const auto source = source_of(topic, group_);
  const auto records = take(*source, 4);
  ASSERT_THAT(records, SizeIs(4));
  EXPECT_EQ(records[0].key, Bytes(binary));
  EXPECT_EQ(records[0].value, Bytes(binary));
  EXPECT_THAT(records[0].headers, ElementsAre(MessageHeader{"h", binary}));
  EXPECT_EQ(records[1].key, Bytes());
  EXPECT_EQ(records[1].value, Bytes());
  EXPECT_THAT(records[1].headers, ElementsAre(MessageHeader{"null", Bytes()}));
  EXPECT_EQ(records[2].key, Bytes(""));
  EXPECT_EQ(records[2].value, Bytes(""));
  EXPECT_THAT(records[2].headers, ElementsAre(MessageHeader{"empty", ""}));
  EXPECT_EQ(records[3].value, Bytes(large));
  EXPECT_THAT(records[3].headers, ElementsAre(MessageHeader{"a", "2"}, MessageHeader{"b", "1"}, MessageHeader{"a", "1"},
                                              MessageHeader{"a", "2"}));
}

TEST_F(KafkaSourceWith, ReadsANewGroupFromTheBeginning) {
  send(topic_, 3);
  const auto source = source_of(topic_, group_);
  const auto records = take(*source, 3);
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_EQ(records[0].place.offset, 0);
  EXPECT_EQ(records[2].value, Bytes("2"));
}

TEST_F(KafkaSourceWith, CommitsOnlyWhatIsDoneWithoutAGap) {
  send(topic_, 4);
  auto source = source_of(topic_, group_);
  const auto records = take(*source, 4);
  ASSERT_THAT(records, SizeIs(4));
  source->done(std::vector{done(records[0]), done(records[2]), done(records[3])});
  EXPECT_TRUE(wait_until([&] { return committed(topic_, group_) == 1; }));
  source->stop();
  EXPECT_EQ(committed(topic_, group_), 1);
  source = source_of(topic_, group_);
  EXPECT_EQ(take(*source, 3).front().place.offset, 1);
}

TEST_F(KafkaSourceWith, CommitsWhatIsDoneWhenItStops) {
  send(topic_, 2);
  const auto source = source_of(topic_, group_);
  const auto records = take(*source, 2);
  ASSERT_THAT(records, SizeIs(2));
  source->done(std::vector{done(records[0]), done(records[1])});
  source->stop();
  EXPECT_EQ(committed(topic_, group_), 2);
  EXPECT_FALSE(source->is_assigned(done(records[0])));
}

TEST_F(KafkaSourceWith, CommitsNothingOfRecordsThatAreNotDone) {
  send(topic_, 2);
  const auto source = source_of(topic_, group_);
  EXPECT_THAT(take(*source, 2), SizeIs(2));
  source->stop();
  EXPECT_EQ(committed(topic_, group_), std::nullopt);
}

// A second member takes half of the partitions: what the first one had taken is waited for and committed first.
TEST_F(KafkaSourceWith, HandsPartitionsToASecondMemberAfterWhatItHasTakenIsDone) {
  const std::string topic = broker_.make_topic({.partitions = 2});
  send(topic, 2, 0);
  send(topic, 2, 1);
  const auto one = source_of(topic, group_);
  const auto records = take(*one, 4);
  ASSERT_THAT(records, SizeIs(4));
  const auto two = source_of(topic, group_);
  // The revocation waits for these; they are done in the midst of it, or before.
  for (const SourceRecord& record : records) one->done(std::vector{done(record)});
  EXPECT_TRUE(wait_until([&] { return one->status().partitions == 1 && two->status().partitions == 1; }));
  EXPECT_EQ(committed(topic, group_, 0), 2);
  EXPECT_EQ(committed(topic, group_, 1), 2);
  EXPECT_FALSE(one->is_assigned(done(records[0])));
  EXPECT_FALSE(one->is_assigned(done(records[3])));
  send(topic, 1, 0);
  send(topic, 1, 1);
  EXPECT_THAT(take(*one, 1), SizeIs(1));
  EXPECT_THAT(take(*two, 1), SizeIs(1));
}

// A late done() of an old assignment would rewind what the new one has committed.
TEST_F(KafkaSourceWith, IgnoresRecordsOfAnOldAssignment) {
  const std::string topic = broker_.make_topic({.partitions = 2});
  send(topic, 3, 0);
  const auto one = source_of(topic, group_);
  const auto before = take(*one, 3);
  ASSERT_THAT(before, SizeIs(3));
  auto two = source_of(topic, group_);
  EXPECT_TRUE(wait_until([&] { return two->status().partitions == 1; }));
  two->stop();
  two.reset();
  EXPECT_TRUE(wait_until([&] { return one->status().partitions == 2; }));
  const auto after = take(*one, 3);
  ASSERT_THAT(after, SizeIs(3));
  EXPECT_NE(after[0].assignment, before[0].assignment);
  one->done(std::vector{done(before[0]), done(before[1]), done(before[2])});
  one->done(std::vector{done(after[0])});
  one->stop();
  EXPECT_EQ(committed(topic, group_), 1);
}

// Longer than it goes without polling, so that it pauses the partitions as well.
TEST_F(KafkaSourceWith, TakesNothingWhileItIsClosed) {
  const auto source = source_of(topic_, group_);
  EXPECT_TRUE(wait_until([&] { return source->status().partitions == 1; }));
  source->set_open(false);
  send(topic_, 3);
  Waker never_woken;
  (void)never_woken.wait(clock_.now() + 4s);
  EXPECT_TRUE(source->status().is_connected);
  EXPECT_THAT(source->take(10, 1 << 20), IsEmpty());
  source->set_open(true);
  EXPECT_THAT(take(*source, 3), SizeIs(3));
}

TEST_F(KafkaSourceWith, FindsPartitionsThatAreAdded) {
  const auto source = source_of(topic_, group_);
  EXPECT_TRUE(wait_until([&] { return source->status().partitions == 1; }));
  broker_.set_partitions(topic_, 2);
  send(topic_, 1, 1);
  const auto records = take(*source, 1);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].place.partition, 1);
}

TEST_F(KafkaSourceWith, ReportsAMissingTopicAndStartsWhenItAppears) {
  const std::string missing = broker_.new_name();
  const auto source = source_of(missing, group_);
  EXPECT_TRUE(wait_until([&] { return source->status().problem.find("does not exist") != std::string::npos; }));
  EXPECT_TRUE(source->status().is_connected);
  (void)broker_.make_topic({.name = missing});
  send(missing, 1);
  EXPECT_THAT(take(*source, 1), SizeIs(1));
  EXPECT_EQ(source->status().problem, "");
}

TEST_F(KafkaSourceWith, KnowsItsLag) {
  send(topic_, 5);
  const auto source = source_of(topic_, group_);
  EXPECT_TRUE(wait_until([&] { return source->status().lag == 5; }));
  (void)take(*source, 2);
  EXPECT_TRUE(wait_until([&] { return source->status().lag == 3; }));
}

TEST_F(KafkaSourceWith, GoesOnAfterTheBrokerWasKilled) {
  KafkaBroker broker;
  const std::string topic = broker.make_topic();
  const auto source = source_of(topic, group_, {{"bootstrap.servers", broker.address()}});
  EXPECT_TRUE(wait_until([&] { return source->status().partitions == 1; }));
  broker.kill_hard();
  EXPECT_TRUE(wait_until([&] { return !source->status().is_connected; }));
  EXPECT_THAT(source->status().problem, HasSubstr("no Kafka broker answers"));
  broker.start();
  {
    KafkaSender sender(broker.address());
    for (int i = 0; i < 3; ++i) sender.send(topic, {.value = "x"});
    sender.flush();
  }
  EXPECT_THAT(take(*source, 3), SizeIs(3));
  EXPECT_TRUE(source->status().is_connected);
}

TEST_F(KafkaSourceWith, StartsWithoutABroker) {
  const auto source = source_of(topic_, group_, {{"bootstrap.servers", "127.0.0.1:1"}});
  EXPECT_TRUE(wait_until([&] { return source->status().problem.find("no Kafka broker") != std::string::npos; }));
  EXPECT_FALSE(source->status().is_connected);
}

}  // namespace
}  // namespace horae::testing
