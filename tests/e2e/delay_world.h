// Nodes with one delay queue between two topics of a real Kafka, on a real PostgreSQL.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/time_text.h"
#include "base/waker.h"
#include "tests/e2e/running_node.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/kafka_client.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {

using std::literals::operator""ms;
using std::literals::operator""s;

class DelayWorld : public ::testing::Test {
 protected:
  // Durable, if PostgreSQL is to be killed.
  explicit DelayWorld(bool durable = false)
      : unsafe_(durable
                    ? std::vector<std::string>{}
                    : std::vector<std::string>{"--postgres-allow-unsafe", "fsync,full_page_writes,synchronous_commit"}),
        server_({.durable = durable, .settings = {}}) {}

  // Takes over what a dead node held, and read, as soon as the settings allow.
  static constexpr std::string_view kQuick = "hold_time = \"2s\"\nfailure_detection_interval = \"200ms\"\n";

  std::unique_ptr<RunningNode> start(const std::string& more = std::string(kQuick)) {
    const std::string path = folder_.path() + fmt::format("/{}.toml", ++nodes_);
    std::ofstream(path) << fmt::format(
        "[kafka]\n\"bootstrap.servers\" = \"{}\"\n\"session.timeout.ms\" = 2000\n\"heartbeat.interval.ms\" = 500\n"
        "\"topic.metadata.refresh.interval.ms\" = 1000\n"
        "[delay.orders]\ninput = \"{}\"\noutput = \"{}\"\n{}",
        kafka_.address(), input_, output_, more);
    // No thread reads the pipe of a node, and a full pipe would block it.
    std::vector<std::string> flags = {"--config",    path,          "--store", url_,      "--http-listen",
                                      "127.0.0.1:0", "--log-level", "off",     "--grace", "5s"};
    flags.insert(flags.end(), unsafe_.begin(), unsafe_.end());
    return std::make_unique<RunningNode>(flags);
  }

  // A record of the application; `in` from now on, which may be negative.
  KafkaRecord message(const std::string& id, Duration in, std::string value = "x") const {
    const Instant deadline = clock_.wall_now() + std::chrono::duration_cast<std::chrono::microseconds>(in);
    return {.key = id,
            .value = std::move(value),
            .headers = {{"chronosMessageId", id}, {"chronosDeadline", format_instant(deadline)}}};
  }

  void send(const KafkaRecord& record) { sender_.send(input_, record); }

  // Reads the output until each id from 0 to `count` - 1 has come; the values are the ids. How often each came.
  std::map<std::string, int> receive(KafkaReader& reader, int count) {
    std::map<std::string, int> times;
    while (times.size() < static_cast<std::size_t>(count)) {
      const auto record = reader.next(120s);
      if (!record) break;
      ++times[record->value.value_or("null")];
    }
    return times;
  }

  void wait_until_empty() {
    EXPECT_TRUE(wait_until([&] { return server_.run_sql("select count(*) from message", database()) == "0"; }));
  }
  std::string database() const { return url_.substr(url_.rfind('/') + 1); }

  static void pause(Duration time) {
    Waker never_woken;
    (void)never_woken.wait(SystemClock().now() + time);
  }

  const SystemClock clock_;
  TemporaryFolder folder_;
  const std::vector<std::string> unsafe_;
  PostgresServer server_;
  std::string url_ = server_.make_database();
  KafkaBroker& kafka_ = shared_kafka();
  std::string input_ = kafka_.make_topic({.partitions = 4, .settings = {{"max.message.bytes", "3000000"}}});
  std::string output_ = kafka_.make_topic({.partitions = 4, .settings = {{"max.message.bytes", "3000000"}}});
  KafkaSender sender_{kafka_.address()};
  int nodes_ = 0;
};

}  // namespace horae::testing
