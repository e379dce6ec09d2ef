// An application of a delay queue: it sends at a rate, receives, and compares the two.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/running_node.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/temporary_folder.h"

namespace horae::bench {

using Milliseconds = std::chrono::milliseconds;

// Two topics, a database and the nodes between them.
struct DelayPlan {
  std::string store = {};  // a URL
  int nodes = 1;
  std::string advance = "50ms";  // timing_advance
  bool has_queue = true;
};

// Nodes as real processes; they end with the object.
class DelayNodes {
 public:
  DelayNodes(testing::KafkaBroker& kafka, const DelayPlan& plan);

  const std::string& input() const { return input_; }
  const std::string& output() const { return output_; }

 private:
  testing::TemporaryFolder folder_;
  std::string input_;
  std::string output_;
  std::vector<std::unique_ptr<testing::RunningNode>> nodes_;
};

struct Load {
  int per_s = 1'000;
  Milliseconds sending{20'000};
  Milliseconds soonest{3'000};  // until the deadline
  Milliseconds latest{10'000};
  std::size_t value_bytes = 200;
};

struct LoadResult {
  double sent_per_s = 0;
  double received_per_s = 0;     // in the time between `latest` and the end of sending, when the flow is steady
  std::vector<double> lateness;  // ms, sorted; of the messages whose deadline is in that time
  std::size_t sent = 0;
  std::size_t missing = 0;
  std::size_t duplicates = 0;
  std::size_t early = 0;  // before deadline - 50 ms, to the millisecond of the topic's clock

  double lateness_at(double share) const;
};

// Blocks until all has come, or nothing comes for `patience`.
LoadResult run_load(testing::KafkaBroker& kafka, const DelayNodes& nodes, const Load& load,
                    Milliseconds patience = std::chrono::seconds(30));

// Bare librdkafka from topic to topic: records per second.
double measure_floor(testing::KafkaBroker& kafka, int records);

}  // namespace horae::bench
