// Timing for the benches: rates, CPU time, and ratios that are robust on a noisy machine.
#pragma once

#include <string>
#include <vector>

namespace horae::bench {

// Wall-clock time and CPU time (of all threads of this process).
struct Spent {
  double wall_s = 0;
  double cpu_s = 0;

  Spent& operator+=(const Spent& other);
};

// Measures from its construction to read().
class Stopwatch {
 public:
  Stopwatch();
  Spent read() const;

 private:
  double wall_s_;
  double cpu_s_;
};

// Median and quartiles.
struct Spread {
  double low = 0;
  double median = 0;
  double high = 0;
};
Spread spread_of(std::vector<double> values);

// "0.81 (0.79-0.84)"
std::string to_string(const Spread& spread);

// Prints the line for scripts: "result NAME VALUE".
void print_result(const std::string& name, double value);

}  // namespace horae::bench
