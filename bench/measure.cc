#include "bench/measure.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

namespace horae::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double wall_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double cpu_now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The quantile of a sorted list, interpolated.
double at_share(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

}  // namespace

Spent& Spent::operator+=(const Spent& other) {
  wall_s += other.wall_s;
  cpu_s += other.cpu_s;
  return *this;
}

Stopwatch::Stopwatch() : wall_s_(wall_now()), cpu_s_(cpu_now()) {}

Spent Stopwatch::read() const { return {wall_now() - wall_s_, cpu_now() - cpu_s_}; }

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {at_share(values, 0.25), at_share(values, 0.5), at_share(values, 0.75)};
}

std::string to_string(const Spread& spread) {
  return fmt::format("{:.2f} ({:.2f}-{:.2f})", spread.median, spread.low, spread.high);
}

void print_result(const std::string& name, double value) { fmt::print("result {} {:.3f}\n", name, value); }

}  // namespace horae::bench
