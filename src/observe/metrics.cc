#include "observe/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace horae {
namespace {

class PrometheusCounter final : public Counter {
 public:
  explicit PrometheusCounter(prometheus::Counter& counter) : counter_(counter) {}
  void add(double by) override { counter_.Increment(by); }

 private:
  prometheus::Counter& counter_;
};

class PrometheusGauge final : public Gauge {
 public:
  explicit PrometheusGauge(prometheus::Gauge& gauge) : gauge_(gauge) {}
  void set(double value) override { gauge_.Set(value); }

 private:
  prometheus::Gauge& gauge_;
};

class PrometheusHistogram final : public Histogram {
 public:
  explicit PrometheusHistogram(prometheus::Histogram& histogram) : histogram_(histogram) {}
  void record(double value) override { histogram_.Observe(value); }

 private:
  prometheus::Histogram& histogram_;
};

prometheus::Labels texts_of(const Labels& labels) {
  prometheus::Labels texts;
  for (const auto& [name, value] : labels) texts.emplace(name, value);
  return texts;
}

// Gives each instrument of the library one of ours, which lives as long as the map. Thread-safe.
template <typename Theirs, typename Ours>
class Wrappers {
 public:
  Ours& of(Theirs& theirs) {
    const std::lock_guard lock(mutex_);
    return wrappers_.try_emplace(&theirs, theirs).first->second;
  }
  void remove(Theirs& theirs) {
    const std::lock_guard lock(mutex_);
    wrappers_.erase(&theirs);
  }

 private:
  std::mutex mutex_;
  std::map<Theirs*, Ours> wrappers_;  // guarded by mutex_
};

}  // namespace

struct Metrics::Instruments {
  // What text() has to read. Its lock is held while the values are read.
  class PolledGauge final : public Probe {
   public:
    PolledGauge(Instruments& instruments, Gauge& gauge, std::function<double()> read)
        : instruments_(instruments), gauge_(gauge), read_(std::move(read)) {
      const std::lock_guard lock(instruments_.probes_mutex);
      instruments_.probes.insert(this);
    }
    ~PolledGauge() override {
      const std::lock_guard lock(instruments_.probes_mutex);
      instruments_.probes.erase(this);
    }
    PolledGauge(const PolledGauge&) = delete;
    PolledGauge& operator=(const PolledGauge&) = delete;

    void update() { gauge_.set(read_()); }

   private:
    Instruments& instruments_;
    Gauge& gauge_;
    const std::function<double()> read_;
  };

  // The registry returns the family that it has under a name.
  prometheus::Registry registry;
  Wrappers<prometheus::Counter, PrometheusCounter> counters;
  Wrappers<prometheus::Gauge, PrometheusGauge> gauges;
  Wrappers<prometheus::Histogram, PrometheusHistogram> histograms;
  std::mutex probes_mutex;
  std::set<PolledGauge*> probes;  // guarded by probes_mutex
};

Metrics::Metrics() : instruments_(std::make_unique<Instruments>()) {}
Metrics::~Metrics() = default;

Counter& Metrics::counter(const Figure& figure, const Labels& labels) {
  auto& family = prometheus::BuildCounter()
                     .Name(std::string(figure.name))
                     .Help(std::string(figure.help))
                     .Register(instruments_->registry);
  return instruments_->counters.of(family.Add(texts_of(labels)));
}

Gauge& Metrics::gauge(const Figure& figure, const Labels& labels) {
  auto& family = prometheus::BuildGauge()
                     .Name(std::string(figure.name))
                     .Help(std::string(figure.help))
                     .Register(instruments_->registry);
  return instruments_->gauges.of(family.Add(texts_of(labels)));
}

void Metrics::remove_gauge(const Figure& figure, const Labels& labels) {
  auto& family = prometheus::BuildGauge()
                     .Name(std::string(figure.name))
                     .Help(std::string(figure.help))
                     .Register(instruments_->registry);
  auto& gone = family.Add(texts_of(labels));
  instruments_->gauges.remove(gone);
  family.Remove(&gone);
}

Histogram& Metrics::histogram(const Figure& figure, std::span<const double> buckets, const Labels& labels) {
  auto& family = prometheus::BuildHistogram()
                     .Name(std::string(figure.name))
                     .Help(std::string(figure.help))
                     .Register(instruments_->registry);
  const prometheus::Histogram::BucketBoundaries bounds(buckets.begin(), buckets.end());
  return instruments_->histograms.of(family.Add(texts_of(labels), bounds));
}

std::unique_ptr<Probe> Metrics::probe(const Figure& figure, std::function<double()> read) {
  return std::make_unique<Instruments::PolledGauge>(*instruments_, gauge(figure), std::move(read));
}

std::string Metrics::text() const {
  {
    const std::lock_guard lock(instruments_->probes_mutex);
    for (Instruments::PolledGauge* probe : instruments_->probes) probe->update();
  }
  return prometheus::TextSerializer().Serialize(instruments_->registry.Collect());
}

}  // namespace horae
