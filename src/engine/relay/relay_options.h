// The settings of one delay queue.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/message.h"

namespace horae {

inline constexpr Duration kShortestHold = std::chrono::seconds(2);
inline constexpr Duration kLongestHorizon = std::chrono::seconds(1);

struct RelayOptions {
  std::string queue;  // its name, as of a task's queue
  std::string input;  // the name of the input, for logs and dead letters: a topic; empty if there is none
  HeaderNames headers;

  // How long before its deadline a message is published. Nothing: learnt from the publish times ("auto").
  std::optional<Duration> timing_advance = std::chrono::milliseconds(50);

  // How long a node may hold a ready message before another node takes it over.
  Duration hold_time = std::chrono::seconds(5);

  // How often due messages are looked for, and messages that are stuck.
  Duration poll_interval = std::chrono::milliseconds(100);
  Duration failure_detection_interval = std::chrono::milliseconds(500);

  // How long before they are published messages are readied; they wait in memory then.
  Duration horizon = std::chrono::milliseconds(500);

  // Limits of what a node holds of this queue in memory: ready messages, and records that are not done.
  std::size_t most_held = 20'000;
  std::size_t most_held_bytes = 64 << 20;
  std::size_t most_pending = 20'000;
  std::size_t most_pending_bytes = 64 << 20;

  // Of one call of the store, for each of its lists. At most kMaxBatch.
  std::size_t batch = 1'000;
  std::size_t batch_bytes = 8 << 20;

  // Batches of the input that are not full begin at least so far apart, so that a trickle does not become one commit for
  // each record.
  Duration gather = std::chrono::milliseconds(5);

  // Of a publish that failed, growing from the first to the second; of a message that the output refuses for good.
  Duration shortest_back_off = std::chrono::milliseconds(200);
  Duration longest_back_off = std::chrono::seconds(5);
  Duration refused_back_off = std::chrono::minutes(1);

  // A message is handed to the sink at most so long after its hold began, because the sink may take half of the hold time
  // to give up: nothing is published after a takeover.
  Duration latest_hand_over() const { return hold_time / 2 - std::chrono::milliseconds(500); }
};

// All that is wrong with the options, each with what to change; empty if they are good.
std::vector<std::string> faults_of(const RelayOptions& options);

}  // namespace horae
