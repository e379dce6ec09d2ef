// A source and a sink in memory.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/relay/sink.h"
#include "engine/relay/source.h"

namespace horae::testing {

// One partition, 0.
class MemorySource final : public Source {
 public:
  explicit MemorySource(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Returns the offset of the record.
  std::int64_t send(Bytes key, Bytes value, std::vector<MessageHeader> headers) {
    arrived_.push_back({.place = {.partition = 0, .offset = next_},
                        .assignment = assignment_,
                        .key = std::move(key),
                        .value = std::move(value),
                        .headers = std::move(headers)});
    wake_();
    return next_++;
  }

  // Another consumer gets the partition, and this one gets it back later.
  void lose() { ++assignment_; }

  // The records before it are done.
  std::int64_t committed() const {
    std::int64_t offset = 0;
    while (done_.contains(offset)) ++offset;
    return offset;
  }

  bool is_open() const { return is_open_; }

  std::vector<SourceRecord> take(std::size_t max, std::size_t) override {
    const auto end = arrived_.begin() + static_cast<std::ptrdiff_t>(std::min(max, arrived_.size()));
    std::vector<SourceRecord> taken(arrived_.begin(), end);
    arrived_.erase(arrived_.begin(), end);
    return taken;
  }
  void done(std::span<const RecordDone> records) override {
    for (const RecordDone& record : records) {
      if (is_assigned(record)) done_.insert(record.place.offset);
    }
  }
  bool is_assigned(const RecordDone& record) const override { return record.assignment == assignment_; }
  void set_open(bool open) override { is_open_ = open; }
  SourceStatus status() const override { return {.is_connected = true, .problem = {}, .partitions = 1, .lag = 0}; }

 private:
  const std::function<void()> wake_;
  std::vector<SourceRecord> arrived_;
  std::set<std::int64_t> done_;
  std::int64_t next_ = 0;
  std::uint64_t assignment_ = 1;
  bool is_open_ = true;
};

// Acknowledges at once, or as `answer` says.
class MemorySink final : public Sink {
 public:
  explicit MemorySink(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Nothing: no report until report() is called.
  std::function<std::optional<PublishEnd>(const Publication&)> answer = [](const Publication&) {
    return PublishEnd::kPublished;
  };

  // Each that was handed over, in order.
  std::vector<Publication> messages;
  std::vector<std::string> ids() const {
    std::vector<std::string> all;
    for (const Publication& each : messages) all.push_back(each.id);
    return all;
  }

  // Reports on all that were not reported.
  void report(PublishEnd end) {
    for (const std::uint64_t ticket : std::exchange(open_, {})) reports_.push_back({ticket, end, "reported late"});
    wake_();
  }
  std::size_t unreported() const { return open_.size(); }

  std::size_t publish(std::vector<Publication>& given) override {
    for (Publication& each : given) {
      const auto end = answer(each);
      if (end) {
        reports_.push_back({each.ticket, *end, "as the test says"});
      } else {
        open_.push_back(each.ticket);
      }
      messages.push_back(std::move(each));
    }
    wake_();
    return given.size();
  }
  std::vector<PublishReport> take_reports() override { return std::exchange(reports_, {}); }
  SinkStatus status() const override { return {.is_connected = true, .problem = {}}; }

 private:
  const std::function<void()> wake_;
  std::vector<PublishReport> reports_;
  std::vector<std::uint64_t> open_;
};

}  // namespace horae::testing
