#include "base/random.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"

namespace horae {

double Random::unit() {
  // The 53 upper bits are all that a double can hold without rounding up to 1.
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

std::uint64_t Random::below(std::uint64_t bound) {
  HORAE_CHECK(bound > 0, "there is no number below 0");
  // Skips the first 2^64 mod bound numbers: the rest is a whole multiple of the bound, so that each remainder is
  // equally likely. Fewer than half of all numbers are skipped.
  const std::uint64_t skipped = (0 - bound) % bound;
  std::uint64_t drawn = next();
  while (drawn < skipped) drawn = next();
  return drawn % bound;
}

namespace {

// What one thread has drawn and not yet used. The kernel gives 256 bytes for about the price of eight, and ids are made
// by the thousand.
class Stock {
 public:
  // What is taken is wiped, so that nobody finds the secret of a token here later.
  std::uint64_t take() {
    if (left_ == 0) draw();
    return std::exchange(bits_[--left_], 0);
  }

 private:
  void draw() {
    ssize_t got = -1;
    do {
      got = ::getrandom(bits_.data(), sizeof bits_, 0);
    } while (got < 0 && errno == EINTR);
    HORAE_CHECK(got == sizeof bits_, "the kernel gives up to 256 random bytes whole once it has started");
    left_ = bits_.size();
  }

  std::array<std::uint64_t, 32> bits_{};
  std::size_t left_ = 0;
};

}  // namespace

std::uint64_t SystemRandom::next() {
  thread_local Stock stock;
  return stock.take();
}

std::uint64_t SeededRandom::next() {
  const std::lock_guard lock(mutex_);
  return engine_();
}

}  // namespace horae
