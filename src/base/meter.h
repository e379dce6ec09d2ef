// How loops, the HTTP server and stores publish figures. Who collects them is up to the implementation.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace horae {

// Instruments are thread-safe and cheap: look them up once and keep them. They live as long as their meter.
class Counter {
 public:
  virtual ~Counter() = default;
  virtual void add(double by = 1) = 0;
};

class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void set(double value) = 0;
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void record(double value) = 0;
};

// A gauge whose value is read when figures are collected, for as long as the probe lives; its destructor waits for a
// collection that is under way. It must not outlive its meter.
class Probe {
 public:
  virtual ~Probe() = default;
};

// What is measured: "horae_backlog", "Chores that wait for a slot". One name has one help text and one type.
struct Figure {
  std::string_view name;
  std::string_view help;
};

using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

// Upper bounds of the buckets of histograms.
inline constexpr std::array kSecondsBuckets = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                               0.1,    0.25,    0.5,    1.0,   2.5,    5.0,   10.0, 30.0};
inline constexpr std::array kItemsBuckets = {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0};

// Thread-safe. The same name with the same labels is the same instrument; a look-up costs a search by name and labels.
// An instrument is published from its look-up on, with the value 0.
class Meter {
 public:
  virtual ~Meter() = default;

  virtual Counter& counter(const Figure& figure, const Labels& labels = {}) = 0;
  virtual Gauge& gauge(const Figure& figure, const Labels& labels = {}) = 0;
  virtual Histogram& histogram(const Figure& figure, std::span<const double> buckets, const Labels& labels = {}) = 0;

  // `read` is called on the thread that collects, and must not look up instruments. Keep the result.
  [[nodiscard]] virtual std::unique_ptr<Probe> probe(const Figure& figure, std::function<double()> read) = 0;
};

// A meter that drops everything, for parts that run without one.
Meter& no_meter();

}  // namespace horae
