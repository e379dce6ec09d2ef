// The doctor on the topics of delay queues.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/terminal/test_terminal.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/temporary_folder.h"

namespace horae::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(DoctorOnKafka, ReportsMissingTopicsAndThoseThatMayLoseMessages) {
  testing::KafkaBroker& kafka = testing::shared_kafka();
  const std::string input = kafka.make_topic({.settings = {{"cleanup.policy", "compact"}}});
  const std::string missing = kafka.new_name();
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/horae.toml";
  std::ofstream(path) << fmt::format(
      "data = \"{}\"\n[kafka]\nbootstrap.servers = \"{}\"\n[delay.a]\ninput = \"{}\"\noutput = \"{}\"\n", folder.path(),
      kafka.address(), input, missing);
  TestTerminal terminal;
  terminal.environment["HORAE_NODE"] = "http://127.0.0.1:1";
  const auto report = terminal.type({"doctor", "--config", path});
  EXPECT_EQ(report.exit_code, kFailed) << report.out;
  EXPECT_THAT(report.out, AllOf(HasSubstr("cleanup.policy is compact"), HasSubstr("min.insync.replicas is 1"),
                                HasSubstr(missing + " does not exist")));
}

}  // namespace
}  // namespace horae::cli
