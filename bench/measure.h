// Timing for the benches: rates and CPU, and ratios that mean something on a noisy machine.
#pragma once

#include <string>
#include <vector>

namespace horae::bench {

// How long something took, on the wall and on the processor (this process, all threads).
struct Spent {
  double wall_s = 0;
  double cpu_s = 0;

  Spent& operator+=(const Spent& other);
};

// Runs from its making to read().
class Stopwatch {
 public:
  Stopwatch();
  Spent read() const;

 private:
  double wall_s_;
  double cpu_s_;
};

// The middle and the quartiles of some figures.
struct Spread {
  double low = 0;
  double median = 0;
  double high = 0;
};
Spread spread_of(std::vector<double> values);

// "0.81 (0.79-0.84)"
std::string to_string(const Spread& spread);

// The line that scripts read: "result NAME VALUE".
void print_result(const std::string& name, double value);

}  // namespace horae::bench
