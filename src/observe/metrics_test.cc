#include "observe/metrics.h"

#include <gmock/gmock.h>

#include <array>
#include <thread>

#include "observe/change_counts.h"
#include "observe/queue_gauges.h"

namespace horae {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Figure kBeans = {"horae_beans_total", "Beans that were counted"};

TEST(Metrics, PublishesCountersWithLabelsAndHelp) {
  Metrics metrics;
  metrics.counter(kBeans, {{"colour", "red"}}).add();
  metrics.counter(kBeans, {{"colour", "red"}}).add(2);
  metrics.counter(kBeans, {{"colour", "white"}}).add();
  EXPECT_THAT(metrics.text(),
              AllOf(HasSubstr("# HELP horae_beans_total Beans that were counted\n"),
                    HasSubstr("# TYPE horae_beans_total counter\n"), HasSubstr(R"(horae_beans_total{colour="red"} 3)"),
                    HasSubstr(R"(horae_beans_total{colour="white"} 1)")));
}

TEST(Metrics, ReturnsTheSameInstrumentForTheSameNameAndLabels) {
  Metrics metrics;
  EXPECT_EQ(&metrics.counter(kBeans), &metrics.counter(kBeans));
  EXPECT_NE(&metrics.counter(kBeans), &metrics.counter(kBeans, {{"colour", "red"}}));
}

TEST(Metrics, PublishesAnInstrumentFromItsLookUpOn) {
  Metrics metrics;
  EXPECT_THAT(metrics.text(), Not(HasSubstr("horae_beans_total")));
  (void)metrics.counter(kBeans);
  EXPECT_THAT(metrics.text(), HasSubstr("horae_beans_total 0"));
}

TEST(Metrics, PublishesGaugesAndHistograms) {
  Metrics metrics;
  metrics.gauge({"horae_level", "A level"}).set(2.5);
  constexpr std::array kBounds = {1.0, 10.0};
  Histogram& sizes = metrics.histogram({"horae_sizes", "Sizes"}, kBounds);
  sizes.record(5);
  sizes.record(50);
  EXPECT_THAT(metrics.text(),
              AllOf(HasSubstr("horae_level 2.5"), HasSubstr(R"(horae_sizes_bucket{le="1"} 0)"),
                    HasSubstr(R"(horae_sizes_bucket{le="10"} 1)"), HasSubstr(R"(horae_sizes_bucket{le="+Inf"} 2)"),
                    HasSubstr("horae_sizes_sum 55"), HasSubstr("horae_sizes_count 2")));
}

TEST(Metrics, ReadsProbesAtEachCollectionUntilTheyEnd) {
  Metrics metrics;
  int reads = 0;
  auto probe = metrics.probe({"horae_reads", "Reads of this probe"}, [&reads] { return ++reads; });
  EXPECT_THAT(metrics.text(), HasSubstr("horae_reads 1"));
  EXPECT_THAT(metrics.text(), HasSubstr("horae_reads 2"));
  probe.reset();
  (void)metrics.text();
  EXPECT_EQ(reads, 2);
}

TEST(Metrics, CountsFromManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 1'000;
  Metrics metrics;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&metrics] {
        const auto probe = metrics.probe({"horae_level", "A level"}, [] { return 1.0; });
        for (int n = 0; n < kEach; ++n) metrics.counter(kBeans).add();
        (void)metrics.text();
      });
    }
  }
  EXPECT_THAT(metrics.text(), HasSubstr("horae_beans_total 4000"));
}

TEST(NoMeter, AcceptsEverything) {
  Meter& meter = no_meter();
  meter.counter(kBeans).add();
  meter.gauge(kBeans).set(1);
  meter.histogram(kBeans, kSecondsBuckets).record(1);
  const auto probe = meter.probe(kBeans, [] { return 1.0; });
  EXPECT_NE(probe, nullptr);
}

TEST(ChangeCounts, CountsTasksByEventOnceForEachCallThatChangedThem) {
  Metrics metrics;
  ChangeCounts counts(metrics);
  using Kind = Change::Kind;
  const std::array<Change, 6> changes = {{{.event = Event::kSubmit},
                                          {.event = Event::kSubmit},
                                          {.event = Event::kSubmit, .is_new = false},
                                          {.kind = Kind::kTasks, .event = Event::kPromote, .count = 5},
                                          {.kind = Kind::kTasks, .event = Event::kPromote, .queue = "a", .count = 0},
                                          {.kind = Kind::kQueue, .queue = "a"}}};
  counts.on_changes(changes);
  counts.on_changes(changes);
  EXPECT_THAT(metrics.text(),
              AllOf(HasSubstr(R"(horae_tasks_total{event="submit"} 4)"),
                    HasSubstr(R"(horae_tasks_total{event="promote"} 10)"), Not(HasSubstr(R"(event="claim")"))));
}

TEST(QueueGauges, PublishesTheCountsOfAQueueByState) {
  Metrics metrics;
  QueueInfo queue{.name = "mail", .settings = {.paused = true}, .ready = 3, .oldest_ready = std::chrono::seconds(7)};
  QueueGauges gauges(metrics);
  gauges.publish({.queues = {queue}, .as_of = {}});
  EXPECT_THAT(metrics.text(), AllOf(HasSubstr(R"(horae_queue_tasks{queue="mail",state="ready"} 3)"),
                                    HasSubstr(R"(horae_queue_tasks{queue="mail",state="running"} 0)"),
                                    HasSubstr(R"(horae_queue_oldest_ready_seconds{queue="mail"} 7)"),
                                    HasSubstr(R"(horae_queue_paused{queue="mail"} 1)")));
  queue.ready = 0;
  queue.oldest_ready.reset();
  gauges.publish({.queues = {queue}, .as_of = {}});
  EXPECT_THAT(metrics.text(), AllOf(HasSubstr(R"(horae_queue_tasks{queue="mail",state="ready"} 0)"),
                                    HasSubstr(R"(horae_queue_oldest_ready_seconds{queue="mail"} 0)")));
}

TEST(QueueGauges, TheFiguresOfAQueueEndWithIt) {
  Metrics metrics;
  QueueGauges gauges(metrics);
  const QueueInfo kept{.name = "kept"};
  const QueueInfo gone{.name = "gone", .ready = 3};
  gauges.publish({.queues = {gone, kept}, .as_of = {}});
  EXPECT_THAT(metrics.text(), HasSubstr(R"(queue="gone")"));
  gauges.publish({.queues = {kept}, .as_of = {}});
  EXPECT_THAT(metrics.text(), AllOf(Not(HasSubstr(R"(queue="gone")")), HasSubstr(R"(queue="kept")")));
  gauges.publish({.queues = {gone}, .as_of = {}});
  EXPECT_THAT(metrics.text(), HasSubstr(R"(horae_queue_tasks{queue="gone",state="ready"} 3)")) << "made again";
}

}  // namespace
}  // namespace horae
