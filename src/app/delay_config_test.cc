#include "app/delay_config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "app/config.h"
#include "tests/support/temporary_folder.h"

namespace horae {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::string_view kKafka = "[kafka]\nbootstrap.servers = \"127.0.0.1:9092\"\n";

class DelayConfigTest : public ::testing::Test {
 protected:
  Result<Config> load(const std::string& text, std::map<std::string, std::string> environment = {}) {
    const std::string path = folder_.path() + "/horae.toml";
    std::ofstream(path) << text;
    return load_config({.file = path, .environment = std::move(environment), .flags = {}});
  }
  std::string fault_of(const std::string& text) {
    const auto config = load(text);
    return config.ok() ? "no fault" : config.error().message;
  }
  // With a queue of that many lines below an output.
  std::string fault_of_queue(const std::string& lines) {
    return fault_of(std::string(kKafka) + "[delay.a]\noutput = \"out\"\n" + lines);
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(DelayConfigTest, HasTheDefaultsOfTheDocument) {
  const auto config = load(std::string(kKafka) + "[delay.reminders]\ninput = \"in\"\noutput = \"out\"\n");
  ASSERT_TRUE(config.ok()) << config.error().message;
  ASSERT_THAT(config->delay.queues, SizeIs(1));
  const DelayQueueConfig& queue = config->delay.queues[0];
  EXPECT_EQ(queue.relay.queue, "reminders");
  EXPECT_EQ(queue.relay.input, "in");
  EXPECT_EQ(queue.output, "out");
  EXPECT_EQ(queue.group, "horae-reminders");
  EXPECT_EQ(queue.dead_letter, "");
  EXPECT_EQ(queue.relay.headers.id, "chronosMessageId");
  EXPECT_EQ(queue.relay.headers.deadline, "chronosDeadline");
  EXPECT_EQ(queue.relay.timing_advance, milliseconds(50));
  EXPECT_EQ(queue.relay.hold_time, seconds(5));
  EXPECT_EQ(queue.relay.poll_interval, milliseconds(100));
  EXPECT_EQ(queue.relay.failure_detection_interval, milliseconds(500));
  EXPECT_EQ(queue.relay.horizon, milliseconds(500));
  EXPECT_EQ(config->delay.kafka.at("bootstrap.servers"), "127.0.0.1:9092");
}

TEST_F(DelayConfigTest, TakesAllSettings) {
  const auto config = load(std::string(kKafka) + R"(
[delay."mail.later"]
input = "in"
group = "g"
dead_letter = "dead"
id_header = "id"
deadline_header = "at"
timing_advance = "auto"
hold_time = "2s"
poll_interval = "20ms"
failure_detection_interval = "1s"
horizon = "1s"
webhook = "https://hooks.example/x"
webhook_networks = ["127.0.0.0/8"]
)");
  ASSERT_TRUE(config.ok()) << config.error().message;
  const DelayQueueConfig& queue = config->delay.queues.at(0);
  EXPECT_EQ(queue.relay.queue, "mail.later");
  EXPECT_EQ(queue.group, "g");
  EXPECT_EQ(queue.dead_letter, "dead");
  EXPECT_EQ(queue.relay.headers, (HeaderNames{"id", "at"}));
  EXPECT_EQ(queue.relay.timing_advance, std::nullopt);
  EXPECT_EQ(queue.relay.hold_time, seconds(2));
  EXPECT_EQ(queue.relay.horizon, seconds(1));
  EXPECT_EQ(queue.webhook, "https://hooks.example/x");
  EXPECT_EQ(queue.webhook_networks, std::vector<std::string>{"127.0.0.0/8"});
}

TEST_F(DelayConfigTest, ReportsAllFaultsAtOnceWithTheirPlaces) {
  const std::string fault = fault_of(std::string(kKafka) +
                                     "acks = 1\n[delay.a]\noutput = \"out\"\nhold_time = \"1s\"\nhorizon = \"2s\"\n"
                                     "holdtime = \"5s\"\npoll_interval = 100\n[delay.b]\ninput = \"in\"\n");
  EXPECT_THAT(
      fault,
      AllOf(HasSubstr("horae.toml:3: kafka.acks cannot be set"), HasSubstr("hold_time is 1s"),
            HasSubstr("horizon is 2s"), HasSubstr("unknown key delay.a.holdtime; did you mean hold_time?"),
            HasSubstr("poll_interval is of type integer"), HasSubstr("delay.b: give either an output or a webhook")));
}

TEST_F(DelayConfigTest, RefusesWhatContradictsItself) {
  EXPECT_THAT(fault_of_queue("webhook = \"http://h/\"\n"), HasSubstr("either an output or a webhook"));
  EXPECT_THAT(fault_of_queue("input = \"out\"\n"), HasSubstr("the same topic"));
  EXPECT_THAT(fault_of_queue("dead_letter = \"out\"\n"), HasSubstr("dead_letter is the topic"));
  EXPECT_THAT(fault_of_queue("input = \"a b\"\n"), HasSubstr("is no name of a topic"));
  EXPECT_THAT(fault_of_queue("timing_advance = \"soon\"\n"), HasSubstr("timing_advance"));
  EXPECT_THAT(fault_of_queue("id_header = \"x\"\ndeadline_header = \"x\"\n"), HasSubstr("different names"));
  EXPECT_THAT(fault_of("[delay.a]\noutput = \"out\"\n"), HasSubstr("needs kafka.bootstrap.servers"));
  EXPECT_THAT(fault_of("[delay.a]\nwebhook = \"ftp://h\"\n"), HasSubstr("is no URL"));
  EXPECT_THAT(fault_of_queue("webhook_networks = [\"10.0.0.0/99\"]\n"), HasSubstr("webhook_networks"));
  EXPECT_THAT(fault_of("delay.a = 1\n"), HasSubstr("is no table"));
  EXPECT_THAT(fault_of(std::string(kKafka) + "[delay.a]\ninput = \"i\"\noutput = \"o\"\ngroup = \"g\"\n" +
                       "[delay.b]\ninput = \"i\"\noutput = \"p\"\ngroup = \"g\"\n"),
              HasSubstr("each would get a part of it"));
}

TEST_F(DelayConfigTest, TakesAtMost64Queues) {
  std::string text(kKafka);
  for (int i = 0; i < 65; ++i) text += fmt::format("[delay.q{}]\noutput = \"out\"\n", i);
  EXPECT_THAT(fault_of(text), HasSubstr("65 delay queues; give at most 64"));
}

TEST_F(DelayConfigTest, TakesSecretsFromTheEnvironmentAndPrintsNone) {
  const auto config = load(std::string(kKafka), {{"HORAE_KAFKA_SASL_PASSWORD", "hunter2"}});
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->delay.kafka.at("sasl.password"), "hunter2");
  EXPECT_THAT(print_config(*config), AllOf(Not(HasSubstr("hunter2")), HasSubstr("sasl.password is set")));
  EXPECT_FALSE(load("", {{"HORAE_KAFKA_ACKS", "1"}}).ok());
}

TEST_F(DelayConfigTest, IsPrintedAsAFileThatReadsBackTheSame) {
  const auto config = load(std::string(kKafka) +
                           "[delay.\"a.b\"]\ninput = \"in\"\noutput = \"out\"\n"
                           "timing_advance = \"auto\"\n[delay.c]\nwebhook = \"http://h/\"\n");
  ASSERT_TRUE(config.ok()) << config.error().message;
  const auto again = load(print_config(*config));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(print_delay_config(again->delay), print_delay_config(config->delay));
  EXPECT_THAT(print_delay_config(config->delay), Not(IsEmpty()));
}

}  // namespace
}  // namespace horae
