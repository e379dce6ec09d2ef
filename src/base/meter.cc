#include "base/meter.h"

namespace horae {
namespace {

class NoCounter final : public Counter {
 public:
  void add(double) override {}
};

class NoGauge final : public Gauge {
 public:
  void set(double) override {}
};

class NoHistogram final : public Histogram {
 public:
  void record(double) override {}
};

class NoMeter final : public Meter {
 public:
  Counter& counter(const Figure&, const Labels&) override { return counter_; }
  Gauge& gauge(const Figure&, const Labels&) override { return gauge_; }
  Histogram& histogram(const Figure&, std::span<const double>, const Labels&) override { return histogram_; }
  std::unique_ptr<Probe> probe(const Figure&, std::function<double()>) override { return std::make_unique<Probe>(); }

 private:
  NoCounter counter_;
  NoGauge gauge_;
  NoHistogram histogram_;
};

}  // namespace

Meter& no_meter() {
  static NoMeter meter;
  return meter;
}

}  // namespace horae
