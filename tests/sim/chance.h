// Random decisions, all determined by the seed.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/clock.h"
#include "base/random.h"

namespace horae::sim {

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}

  Random& random() { return random_; }
  double unit() { return random_.unit(); }
  bool happens(double probability) { return probability > 0.0 && unit() < probability; }

  // Both ends are included.
  int between(int low, int high) {
    return low + static_cast<int>(random_.below(static_cast<std::uint64_t>(high - low) + 1));
  }
  Duration between(Duration low, Duration high) { return low + part(high - low, unit()); }

  // Exponentially distributed: mostly short, sometimes several times the mean.
  Duration around(Duration mean) { return part(mean, -std::log(1.0 - unit())); }

  template <typename T>
  const T& one_of(const std::vector<T>& all) {
    return all[random_.below(all.size())];
  }

  static Duration part(Duration whole, double share) {
    return Duration(static_cast<Duration::rep>(static_cast<double>(whole.count()) * share));
  }

 private:
  SeededRandom random_;
};

}  // namespace horae::sim
