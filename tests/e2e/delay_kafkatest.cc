// The delay queue as real processes, with real Kafka and PostgreSQL: docs/concepts/delay_queue.md says what holds.

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>

#include "tests/e2e/delay_world.h"

namespace horae::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

class DelayQueue : public DelayWorld {
 protected:
  using DelayWorld::DelayWorld;
};

// Both paths: what is due in a moment is stored first, what is late is published at once.
TEST_F(DelayQueue, RelaysEveryByteDelayedAndLate) {
  const auto node = start();
  const std::string binary("\0\xff\x80 \n\r\0", 7);
  std::map<std::string, KafkaRecord> sent;
  int number = 0;
  for (const Duration in : {Duration(2s), Duration(-1s)}) {
    for (const auto& [key, value] : std::vector<std::pair<Bytes, Bytes>>{
             {binary, binary}, {Bytes(), Bytes()}, {"", ""}, {Bytes(), std::string(1 << 20, 'x')}}) {
      const std::string mark = std::to_string(++number);
      KafkaRecord record = message("id" + mark, in);
      record.key = key;
      record.value = value;
      record.headers.insert(record.headers.begin(), {{"mark", mark}, {"a", "2"}, {"b", binary}});
      record.headers.insert(record.headers.end(), {{"a", "1"}, {"null", Bytes()}, {"empty", ""}, {"a", "2"}});
      send(record);
      std::erase_if(record.headers, [](const MessageHeader& each) { return each.name.starts_with("chronos"); });
      sent[mark] = record;
    }
  }
  sender_.flush();
  KafkaReader reader(kafka_.address(), output_);
  for (const KafkaRecord& record : reader.take(sent.size())) {
    const KafkaRecord& expected = sent.at(record.headers.at(0).value.value_or(""));
    EXPECT_EQ(record.key, expected.key);
    EXPECT_EQ(record.value, expected.value);
    EXPECT_EQ(record.headers, expected.headers);
    sent.erase(record.headers.at(0).value.value_or(""));
  }
  EXPECT_THAT(sent, SizeIs(0));
  wait_until_empty();
}

TEST_F(DelayQueue, FiresNoMessageBeforeItsDeadlineLessTheAdvance) {
  const auto node = start();
  const Instant deadline = clock_.wall_now() + 1s;
  for (int i = 0; i < 100; ++i) {
    KafkaRecord record = message(std::to_string(i), 0s);
    record.headers[1].value = format_instant(deadline + i * 10ms);
    record.value = std::to_string(i);
    send(record);
  }
  sender_.flush();
  KafkaReader reader(kafka_.address(), output_);
  for (const KafkaRecord& record : reader.take(100)) {
    const auto fires = (deadline + std::stoi(*record.value) * 10ms - 50ms).time_since_epoch();
    EXPECT_GE(record.timestamp_ms, std::chrono::duration_cast<std::chrono::milliseconds>(fires).count() - 1);
  }
}

TEST_F(DelayQueue, FiresOneOfRepeatedIds) {
  const auto node = start();
  for (int i = 0; i < 20; ++i) send(message("same", 3s, std::to_string(i)));
  send(message("last", 4s, "last"));
  sender_.flush();
  KafkaReader reader(kafka_.address(), output_);
  const auto records = reader.take(2);
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[1].value, Bytes("last"));
  wait_until_empty();
}

// What an application does that delays the same thing again and again.
TEST_F(DelayQueue, LosesNoIdThatIsSentAgainOnReceipt) {
  const auto node = start();
  constexpr int kIds = 10;
  constexpr int kTimes = 100;
  KafkaReader reader(kafka_.address(), output_);
  for (int i = 0; i < kIds; ++i) send(message(std::to_string(i), 100ms, "1"));
  std::map<std::string, int> received;
  for (int i = 0; i < kIds * kTimes; ++i) {
    const auto record = reader.next(60s);
    ASSERT_TRUE(record.has_value()) << "after " << i;
    EXPECT_EQ(*record->value, std::to_string(++received[*record->key]));
    if (received[*record->key] < kTimes) send(message(*record->key, 20ms, std::to_string(received[*record->key] + 1)));
  }
  wait_until_empty();
}

// A record that is no message is dropped, or dead-lettered with the reason; those behind it go on.
TEST_F(DelayQueue, SendsRecordsThatAreNoMessagesToTheDeadLetterTopic) {
  const std::string dead = kafka_.make_topic();
  const auto node = start(fmt::format("dead_letter = \"{}\"\n", dead));
  send({.value = "no headers"});
  KafkaRecord bad = message("id", 0s, "bad deadline");
  bad.headers[1].value = "tomorrow";
  send(bad);
  send(message("good", 100ms, "good"));
  sender_.flush();
  KafkaReader letters(kafka_.address(), dead);
  std::set<std::string> values;
  for (const KafkaRecord& record : letters.take(2)) {
    values.insert(*record.value);
    EXPECT_GT(record.headers.size(), 0U);
  }
  EXPECT_THAT(values, ElementsAre("bad deadline", "no headers"));
  KafkaReader reader(kafka_.address(), output_);
  EXPECT_EQ(reader.take(1).at(0).value, Bytes("good"));
}

// Two nodes under load; one of them is killed 20 times (DELAY_KILLS) at random, and started again.
TEST_F(DelayQueue, LosesNothingWhenNodesAreKilled) {
  const char* wanted = std::getenv("DELAY_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 20;
  constexpr int kPerKill = 300;
  std::vector<std::unique_ptr<RunningNode>> nodes;
  nodes.push_back(start());
  nodes.push_back(start());
  std::mt19937 random(20);  // the same moments at each run, as far as the machine allows
  int sent = 0;
  for (int i = 0; i < kills; ++i) {
    for (int j = 0; j < kPerKill; ++j, ++sent) {
      send(message(std::to_string(sent), std::chrono::milliseconds(random() % 3'000), std::to_string(sent)));
    }
    pause(std::chrono::milliseconds(random() % 1'000));
    auto& killed = nodes.at(random() % 2);
    killed->kill();
    killed = start();
  }
  sender_.flush();
  KafkaReader reader(kafka_.address(), output_);
  const auto times = receive(reader, sent);
  EXPECT_THAT(times, SizeIs(static_cast<std::size_t>(sent)));
  wait_until_empty();
}

// Longer than the hold time: its messages are taken over, and what it fires afterwards is not lost either.
TEST_F(DelayQueue, LosesNothingWhenANodeIsPaused) {
  auto one = start();
  auto two = start();
  constexpr int kMessages = 2'000;
  for (int i = 0; i < kMessages; ++i)
    send(message(std::to_string(i), std::chrono::milliseconds(i * 2), std::to_string(i)));
  sender_.flush();
  pause(1s);
  one->process().send_signal(SIGSTOP);
  pause(5s);
  one->process().send_signal(SIGCONT);
  KafkaReader reader(kafka_.address(), output_);
  EXPECT_THAT(receive(reader, kMessages), SizeIs(kMessages));
  wait_until_empty();
}

TEST_F(DelayQueue, DuplicatesNothingWithoutFaults) {
  const auto one = start("");
  const auto two = start("");
  constexpr int kMessages = 10'000;
  for (int i = 0; i < kMessages; ++i) {
    send(message(std::to_string(i), std::chrono::milliseconds(1'000 + i % 3'000), std::to_string(i)));
  }
  sender_.flush();
  KafkaReader reader(kafka_.address(), output_);
  const auto times = receive(reader, kMessages);
  EXPECT_THAT(times, SizeIs(kMessages));
  wait_until_empty();
  EXPECT_FALSE(reader.next(1s).has_value());
  EXPECT_THAT(times, Each(Pair(::testing::_, 1)));
}

class DelayOutage : public DelayQueue {
 protected:
  DelayOutage() : DelayQueue(true) {}

  // Sends for about six seconds, with the outage in the midst; everything arrives without a restart.
  void expect_all_arrive(const std::function<void()>& fail, const std::function<void()>& mend) {
    const auto one = start();
    const auto two = start();
    constexpr int kSteps = 60;
    constexpr int kPerStep = 50;
    int sent = 0;
    for (int step = 0; step < kSteps; ++step) {
      if (step == kSteps / 4) fail();
      if (step == kSteps * 3 / 4) mend();
      for (int i = 0; i < kPerStep; ++i, ++sent) {
        send(message(std::to_string(sent), std::chrono::milliseconds(i * 60), std::to_string(sent)));
      }
      pause(100ms);
    }
    sender_.flush();
    KafkaReader reader(kafka_.address(), output_);
    EXPECT_THAT(receive(reader, sent), SizeIs(static_cast<std::size_t>(sent)));
    wait_until_empty();
  }
};

TEST_F(DelayOutage, OfPostgresLosesNothing) {
  expect_all_arrive([&] { server_.kill_hard(); }, [&] { server_.start(); });
}

TEST_F(DelayOutage, OfKafkaLosesNothing) {
  expect_all_arrive([&] { kafka_.kill_hard(); }, [&] { kafka_.start(); });
}

TEST_F(DelayQueue, StartsByItselfWhenItsTopicsAppear) {
  input_ = kafka_.new_name();
  output_ = kafka_.new_name();
  const auto node = start();
  (void)kafka_.make_topic({.name = input_});
  (void)kafka_.make_topic({.name = output_});
  send(message("id", 500ms, "arrived"));
  sender_.flush();
  KafkaReader reader(kafka_.address(), output_);
  EXPECT_EQ(reader.take(1).at(0).value, Bytes("arrived"));
}

}  // namespace
}  // namespace horae::testing
