// A meter whose figures Prometheus can read. The library stays inside.
#pragma once

#include <memory>
#include <string>

#include "base/meter.h"

namespace horae {

// Thread-safe.
class Metrics final : public Meter {
 public:
  Metrics();
  ~Metrics() override;
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  Counter& counter(const Figure& figure, const Labels& labels = {}) override;
  Gauge& gauge(const Figure& figure, const Labels& labels = {}) override;
  Histogram& histogram(const Figure& figure, std::span<const double> buckets, const Labels& labels = {}) override;
  std::unique_ptr<Probe> probe(const Figure& figure, std::function<double()> read) override;

  // Ends a gauge: it is not published any more, and a reference to it is of no use. For gauges of things that end, by
  // the only part that looks them up.
  void remove_gauge(const Figure& figure, const Labels& labels);

  // All figures in Prometheus' text format. Reads the probes first.
  std::string text() const;

 private:
  struct Instruments;
  const std::unique_ptr<Instruments> instruments_;
};

}  // namespace horae
