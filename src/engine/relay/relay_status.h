// How a delay queue does, as seen by one node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/uuid.h"
#include "engine/relay/sink.h"
#include "engine/relay/source.h"
#include "store/message_store.h"

namespace horae {

struct RelayStatus {
  std::string queue;
  Uuid node;

  // Of all nodes: what the store held within the last 5 s; nothing before the first count.
  std::optional<MessageCounts> counts;

  // Of this node since its start.
  std::uint64_t enqueued = 0;
  std::uint64_t repeated = 0;
  std::uint64_t late = 0;
  std::uint64_t fired = 0;
  std::uint64_t failed = 0;
  std::uint64_t dead_lettered = 0;
  std::uint64_t suspected = 0;
  std::uint64_t gone = 0;
  std::vector<std::pair<std::string, std::uint64_t>> bad;  // by reason

  // Of this node in the last 10 s; nothing if nothing was published.
  double fired_per_second = 0.0;
  std::optional<Duration> lateness_p50, lateness_p99, lateness_p999;  // from deadline to acknowledged publish
  std::optional<Duration> publish_p50, publish_p99;                   // from publish to acknowledgement

  Duration advance{};                    // in use
  std::size_t held = 0;                  // ready messages that this node answers for
  std::size_t pending = 0;               // records that are not done
  bool is_behind = false;                // overdue messages wait: nothing is taken in
  bool is_stalled = false;               // the output does not acknowledge
  std::optional<Duration> clock_offset;  // the store's clock against the node's: above zero if it is ahead

  std::optional<SourceStatus> source;  // nothing: there is no input
  SinkStatus output;
  std::optional<SinkStatus> dead_letters;  // nothing: there are none
};

}  // namespace horae
