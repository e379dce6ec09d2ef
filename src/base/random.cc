#include "base/random.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"

namespace horae {

double Random::unit() {
  // The upper 53 bits: more would not fit into a double and could round up to 1.
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

std::uint64_t Random::below(std::uint64_t bound) {
  HORAE_CHECK(bound > 0, "there is no number below 0");
  // Rejects the first 2^64 mod bound numbers: the count of the rest is a multiple of the bound, so that each remainder
  // is equally likely. Fewer than half of all numbers are rejected.
  const std::uint64_t skipped = (0 - bound) % bound;
  std::uint64_t drawn = next();
  while (drawn < skipped) drawn = next();
  return drawn % bound;
}

namespace {

// One thread's buffer of random bits. The kernel returns 256 bytes for about the price of eight, and ids are made by
// the thousand.
class Buffer {
 public:
  // Wipes what it returns, so that the secret of a token does not remain in memory here.
  std::uint64_t take() {
    if (left_ == 0) refill();
    return std::exchange(bits_[--left_], 0);
  }

 private:
  void refill() {
    ssize_t got = -1;
    do {
      got = ::getrandom(bits_.data(), sizeof bits_, 0);
    } while (got < 0 && errno == EINTR);
    HORAE_CHECK(got == sizeof bits_, "once initialized, the kernel returns up to 256 random bytes in one piece");
    left_ = bits_.size();
  }

  std::array<std::uint64_t, 32> bits_{};
  std::size_t left_ = 0;
};

}  // namespace

std::uint64_t SystemRandom::next() {
  thread_local Buffer buffer;
  return buffer.take();
}

std::uint64_t SeededRandom::next() {
  const std::lock_guard lock(mutex_);
  return engine_();
}

}  // namespace horae
