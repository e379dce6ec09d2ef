// Where records and messages go that can never be relayed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "engine/relay/publisher.h"

namespace horae {

inline constexpr std::string_view kReasonHeader = "horaeReason";
inline constexpr std::string_view kDelayQueueHeader = "horaeDelayQueue";
inline constexpr std::string_view kTopicHeader = "horaeTopic";
inline constexpr std::string_view kPartitionHeader = "horaePartition";
inline constexpr std::string_view kOffsetHeader = "horaeOffset";

// Where a letter comes from and why: headers that it gets after its own.
struct LetterOrigin {
  std::string reason;
  std::string delay_queue;
  std::string topic;                 // empty: not from a topic
  std::optional<RecordPlace> place;  // in the topic
};

// Publishes to the sink of dead letters.
//
// Thread-safe; collect() by one thread at a time.
class DeadLetters final : private DeliveryTaker {
 public:
  // Called once, on the thread of collect(), or of publish() if the sink takes nothing.
  using Then = std::function<void(const Delivery&, MonotonicTime now)>;

  // The sink must outlive the dead letters.
  explicit DeadLetters(Sink& sink) : publisher_(sink) {}

  void publish(Publication letter, const LetterOrigin& origin, MonotonicTime now, Then then);
  void collect(MonotonicTime now) { publisher_.collect(now); }
  SinkStatus status() const { return publisher_.status(); }
  std::size_t in_flight() const { return publisher_.in_flight(); }

 private:
  void on_deliveries(std::span<const Delivery> deliveries, MonotonicTime now) override;

  Publisher publisher_;
  std::mutex mutex_;
  std::map<std::uint64_t, Then> waiting_;  // guarded by mutex_; by ticket
  std::uint64_t last_ticket_ = 0;          // guarded by mutex_
};

}  // namespace horae
