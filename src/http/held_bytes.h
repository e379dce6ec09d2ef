// Bounds the bytes of requests that a server holds at one time, over all connections. Private to the server.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace horae {

// Thread-safe.
class ByteGauge {
 public:
  explicit ByteGauge(std::size_t limit) : limit_(limit) {}

  // False, and nothing is added, if that would exceed the limit.
  bool try_add(std::size_t count) {
    if (held_.fetch_add(count) + count <= limit_) return true;
    held_ -= count;
    return false;
  }
  void remove(std::size_t count) { held_ -= count; }
  std::size_t held() const { return held_; }

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> held_ = 0;
};

// The share of one request, returned to the gauge when destroyed. The gauge outlives it.
//
// Not thread-safe.
class HeldBytes {
 public:
  explicit HeldBytes(ByteGauge& gauge) : gauge_(&gauge) {}
  HeldBytes(HeldBytes&& other) noexcept : gauge_(other.gauge_), count_(std::exchange(other.count_, 0)) {}
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;
  ~HeldBytes() {
    if (count_ > 0) gauge_->remove(count_);
  }

  // False if there is no room.
  bool try_add(std::size_t count) {
    if (!gauge_->try_add(count)) return false;
    count_ += count;
    return true;
  }

  // Splits off all but `left` bytes, which stay here.
  HeldBytes take_all_but(std::size_t left) {
    HeldBytes taken(*gauge_);
    taken.count_ = count_ - left;
    count_ = left;
    return taken;
  }

 private:
  ByteGauge* gauge_;
  std::size_t count_ = 0;
};

}  // namespace horae
