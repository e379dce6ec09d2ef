#include "kafka/kafka_sink.h"

#include <map>
#include <set>
#include <string>

#include "tests/support/kafka_world.h"

namespace horae::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class KafkaSinkTo : public KafkaWorld {
 protected:
  std::vector<PublishReport> publish(KafkaSink& sink, std::vector<Publication> messages) {
    const std::size_t count = messages.size();
    EXPECT_EQ(sink.publish(messages), count);
    return reports_of(sink, count);
  }
};

TEST_F(KafkaSinkTo, KeepsEveryByteAndTellsNullFromEmpty) {
  const std::string topic = broker_.make_topic({.settings = {{"max.message.bytes", "3000000"}}});
  const std::string binary("\0\xff\x80 \n\r\0", 7);
  const std::string large(1 << 20, 'x');
  const auto sink = sink_to(topic);
  const auto reports = publish(
      *sink, {{.ticket = 1, .id = "", .key = binary, .value = binary, .headers = {{"h", binary}}},
              {.ticket = 2, .id = "", .key = Bytes(), .value = Bytes(), .headers = {{"null", Bytes()}}},
              {.ticket = 3, .id = "", .key = "", .value = "", .headers = {{"empty", ""}}},
              {.ticket = 4, .id = "", .key = {}, .value = large, .headers = {{"a", "2"}, {"b", "1"}, {"a", "1"}}}});
  EXPECT_THAT(reports, Each(Field(&PublishReport::end, PublishEnd::kPublished)));
  const auto records = KafkaReader(broker_.address(), topic).take(4);
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
  EXPECT_THAT(records[3].headers,
              ElementsAre(MessageHeader{"a", "2"}, MessageHeader{"b", "1"}, MessageHeader{"a", "1"}));
}

// From the tests of Kafka's own clients (UtilsTest.testMurmur2): the hash, and its non-negative rest by 7 partitions.
TEST_F(KafkaSinkTo, SendsAKeyToThePartitionThatJavaChooses) {
  const std::map<std::string, std::int32_t> hashes = {{"21", -973932308},
                                                      {"foobar", -790332482},
                                                      {"a-little-bit-long-string", -985981536},
                                                      {"a-little-bit-longer-string", -1486304829},
                                                      {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
                                                      {"abc", 479470107}};
  const std::string topic = broker_.make_topic({.partitions = 7});
  const auto sink = sink_to(topic);
  std::vector<Publication> messages;
  for (const auto& [key, hash] : hashes) {
    messages.push_back({.ticket = messages.size(), .id = "", .key = key, .value = "", .headers = {}});
  }
  EXPECT_THAT(publish(*sink, messages), SizeIs(hashes.size()));
  for (const KafkaRecord& record : KafkaReader(broker_.address(), topic).take(hashes.size())) {
    EXPECT_EQ(record.partition, (hashes.at(*record.key) & 0x7fffffff) % 7) << *record.key;
  }
}

TEST_F(KafkaSinkTo, ReportsEachMessageOnce) {
  const std::string topic = broker_.make_topic({.partitions = 3});
  const auto sink = sink_to(topic);
  std::vector<Publication> messages;
  for (std::uint64_t i = 0; i < 5'000; ++i) messages.push_back(publication(i, std::to_string(i)));
  std::set<std::uint64_t> tickets;
  const auto reports = publish(*sink, std::move(messages));
  for (const PublishReport& report : reports) tickets.insert(report.ticket);
  EXPECT_THAT(reports, SizeIs(5'000));
  EXPECT_THAT(tickets, SizeIs(5'000));
}

TEST_F(KafkaSinkTo, RefusesWhatIsTooLargeForTheTopicAndOnlyThat) {
  const std::string topic = broker_.make_topic({.settings = {{"max.message.bytes", "1000"}}});
  const auto sink = sink_to(topic);
  const auto refused = publish(*sink, {publication(1, std::string(2'000, 'x'))});
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_EQ(refused[0].end, PublishEnd::kRefused);
  EXPECT_THAT(refused[0].reason, HasSubstr("size"));
  EXPECT_EQ(publish(*sink, {publication(2, "small")})[0].end, PublishEnd::kPublished);
}

// Ten messages of 200 bytes come as one batch, which the broker refuses as a whole: none of them is at fault.
TEST_F(KafkaSinkTo, RefusesNoMessageThatOnlyItsBatchMakesTooLarge) {
  const std::string topic = broker_.make_topic({.settings = {{"max.message.bytes", "1000"}}});
  const auto sink = sink_to(topic, 30s, {{"linger.ms", "100"}});
  std::map<std::uint64_t, Publication> open;
  for (std::uint64_t i = 0; i < 10; ++i) open[i] = publication(i, std::string(200, 'x'));
  EXPECT_TRUE(wait_until([&] {
    std::vector<Publication> messages;
    for (const auto& [ticket, message] : open) messages.push_back(message);
    const std::size_t taken = sink->publish(messages);
    for (const PublishReport& report : reports_of(*sink, taken)) {
      EXPECT_NE(report.end, PublishEnd::kRefused);
      if (report.end == PublishEnd::kPublished) open.erase(report.ticket);
    }
    return open.empty();
  }));
}

TEST_F(KafkaSinkTo, FailsInTimeWhileTheTopicIsMissingAndStartsWhenItAppears) {
  const std::string topic = broker_.new_name();
  const auto sink = sink_to(topic, 1s);
  EXPECT_TRUE(wait_until([&] { return sink->status().problem.find("does not exist") != std::string::npos; }));
  EXPECT_EQ(publish(*sink, {publication(1, "x")})[0].end, PublishEnd::kFailed);
  (void)broker_.make_topic({.name = topic});
  EXPECT_TRUE(wait_until([&] { return publish(*sink, {publication(2, "x")})[0].end == PublishEnd::kPublished; }));
  EXPECT_EQ(sink->status().problem, "");
}

TEST_F(KafkaSinkTo, GoesOnWithANewProducerAfterAFatalError) {
  const std::string topic = broker_.make_topic();
  const auto sink = sink_to(topic);
  EXPECT_EQ(publish(*sink, {publication(1, "before")})[0].end, PublishEnd::kPublished);
  sink->raise_fatal_error();
  std::uint64_t ticket = 1;
  EXPECT_TRUE(wait_until([&] {
    std::vector<Publication> one = {publication(++ticket, "after")};
    return sink->publish(one) == 1 && reports_of(*sink, 1)[0].end == PublishEnd::kPublished;
  }));
  const auto records = KafkaReader(broker_.address(), topic).take(2);
  EXPECT_EQ(records[0].value, Bytes("before"));
  EXPECT_EQ(records[1].value, Bytes("after"));
}

TEST_F(KafkaSinkTo, ReportsWhatHasNoAnswerWhenItStops) {
  const auto sink = sink_to("any", 30s, {{"bootstrap.servers", "127.0.0.1:1"}});
  std::vector<Publication> messages = {publication(1, "x"), publication(2, "y")};
  EXPECT_EQ(sink->publish(messages), 2U);
  sink->stop();
  const auto reports = sink->take_reports();
  EXPECT_THAT(reports, SizeIs(2));
  EXPECT_THAT(reports, Each(Field(&PublishReport::end, PublishEnd::kFailed)));
  messages = {publication(3, "z")};
  EXPECT_EQ(sink->publish(messages), 0U);
}

TEST_F(KafkaSinkTo, TakesNoMoreThanItsQueueHolds) {
  const auto sink = sink_to("any", 30s, {{"bootstrap.servers", "127.0.0.1:1"}, {"queue.buffering.max.messages", "3"}});
  std::vector<Publication> messages;
  for (std::uint64_t i = 0; i < 5; ++i) messages.push_back(publication(i, "x"));
  EXPECT_EQ(sink->publish(messages), 3U);
  EXPECT_EQ(messages[3].value, Bytes("x"));
}

TEST_F(KafkaSinkTo, PublishesOnceTheKilledBrokerIsBack) {
  KafkaBroker broker;
  const std::string topic = broker.make_topic();
  const auto sink = sink_to(topic, 1s, {{"bootstrap.servers", broker.address()}});
  EXPECT_EQ(publish(*sink, {publication(1, "x")})[0].end, PublishEnd::kPublished);
  broker.kill_hard();
  EXPECT_TRUE(wait_until([&] { return !sink->status().is_connected; }));
  EXPECT_NE(publish(*sink, {publication(2, "y")})[0].end, PublishEnd::kPublished);
  broker.start();
  EXPECT_TRUE(wait_until([&] { return publish(*sink, {publication(3, "z")})[0].end == PublishEnd::kPublished; }));
  EXPECT_TRUE(sink->status().is_connected);
  EXPECT_EQ(sink->status().problem, "");
}

}  // namespace
}  // namespace horae::testing
