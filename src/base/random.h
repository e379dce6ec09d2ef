// Randomness as an interface, with a seeded generator for tests.
#pragma once

#include <cstdint>
#include <mutex>
#include <random>

namespace horae {

// Thread-safe.
class Random {
 public:
  virtual ~Random() = default;

  // 64 uniformly distributed bits.
  virtual std::uint64_t next() = 0;

  // Uniform in [0, 1).
  double unit();

  // Uniform in [0, bound). `bound` is above 0.
  std::uint64_t below(std::uint64_t bound);
};

// The kernel's generator: unpredictable, fit for tokens and ids. Each thread buffers random bytes, so after a fork only
// one of the two processes may use it.
class SystemRandom final : public Random {
 public:
  std::uint64_t next() override;
};

// The same sequence for the same seed on every platform.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t next() override;

 private:
  std::mutex mutex_;
  std::mt19937_64 engine_;  // guarded by mutex_
};

}  // namespace horae
