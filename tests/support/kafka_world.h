// Sources and sinks on the shared broker, for the tests of src/kafka.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/waker.h"
#include "kafka/kafka_sink.h"
#include "kafka/kafka_source.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/kafka_client.h"
#include "tests/support/server_process.h"

namespace horae::testing {

using std::literals::operator""ms;
using std::literals::operator""s;

// A source or a sink with the waker that it calls.
class KafkaWorld : public ::testing::Test {
 protected:
  using Settings = KafkaSettings;

  Settings settings(Settings more = {}) const {
    more.insert({{"bootstrap.servers", broker_.address()}, {"topic.metadata.refresh.interval.ms", "500"}});
    return more;
  }

  std::unique_ptr<KafkaSource> source_of(const std::string& topic, const std::string& group, Settings more = {}) {
    KafkaSourceOptions options{
        .topic = topic, .group = group, .client_id = "test", .settings = settings(std::move(more))};
    auto source = std::make_unique<KafkaSource>(std::move(options), clock_, log_, [this] { waker_.wake(); });
    source->start();
    return source;
  }

  std::unique_ptr<KafkaSink> sink_to(const std::string& topic, Duration timeout = 30s, Settings more = {}) {
    KafkaSinkOptions options{
        .topic = topic, .client_id = "test", .timeout = timeout, .settings = settings(std::move(more))};
    auto sink = std::make_unique<KafkaSink>(std::move(options), clock_, log_, [this] { waker_.wake(); });
    sink->start();
    return sink;
  }

  // Waits until that many records have come, for a minute at most.
  std::vector<SourceRecord> take(KafkaSource& source, std::size_t count) {
    std::vector<SourceRecord> records;
    (void)wait_until([&] {
      for (SourceRecord& record : source.take(count - records.size(), 100 << 20)) records.push_back(std::move(record));
      return records.size() >= count;
    });
    return records;
  }

  std::vector<PublishReport> reports_of(KafkaSink& sink, std::size_t count) {
    std::vector<PublishReport> reports;
    (void)wait_until([&] {
      for (PublishReport& report : sink.take_reports()) reports.push_back(std::move(report));
      return reports.size() >= count;
    });
    return reports;
  }

  static RecordDone done(const SourceRecord& record) {
    return {.place = record.place, .assignment = record.assignment};
  }

  void send(const std::string& topic, int count, std::int32_t partition = 0) {
    KafkaSender sender(broker_.address());
    for (int i = 0; i < count; ++i) sender.send(topic, {.value = std::to_string(i), .partition = partition});
    sender.flush();
  }

  std::optional<std::int64_t> committed(const std::string& topic, const std::string& group,
                                        std::int32_t partition = 0) {
    return committed_offset(broker_.address(), group, topic, partition);
  }

  static Publication publication(std::uint64_t ticket, std::string value) {
    return {.ticket = ticket, .id = "", .key = {}, .value = std::move(value), .headers = {}};
  }

  KafkaBroker& broker_ = shared_kafka();
  SystemClock clock_;
  Logger log_{std::cerr, clock_, {.level = LogLevel::kOff}};
  Waker waker_;
};

}  // namespace horae::testing
