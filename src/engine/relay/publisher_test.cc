#include "engine/relay/publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace horae {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr MonotonicTime kHandOver{std::chrono::hours(1)};

class SmallSink final : public Sink {
 public:
  explicit SmallSink(std::size_t room) : room_(room) {}

  std::size_t publish(std::vector<Publication>& messages) override {
    const std::size_t taken = std::min(room_, messages.size());
    for (std::size_t i = 0; i < taken; ++i) tickets.push_back(std::move(messages[i]).ticket);
    room_ -= taken;
    return taken;
  }
  std::vector<PublishReport> take_reports() override { return std::exchange(reports, {}); }
  SinkStatus status() const override { return {}; }

  void report(std::size_t index, PublishEnd end) { reports.push_back({tickets.at(index), end, ""}); }

  std::vector<std::uint64_t> tickets;
  std::vector<PublishReport> reports;

 private:
  std::size_t room_;
};

class Taker final : public DeliveryTaker {
 public:
  void on_deliveries(std::span<const Delivery> deliveries, MonotonicTime) override {
    for (const Delivery& each : deliveries) tickets.push_back(each.ticket);
  }
  std::vector<std::uint64_t> tickets;
};

std::vector<Publication> with_tickets(std::initializer_list<std::uint64_t> tickets) {
  std::vector<Publication> all;
  for (const std::uint64_t ticket : tickets) all.push_back({.ticket = ticket});
  return all;
}

TEST(Publisher, BringsEachReportToItsTakerUnderItsOwnTicket) {
  SmallSink sink(100);
  Publisher publisher(sink);
  Taker one, other;
  auto first = with_tickets({7, 8}), second = with_tickets({7});
  EXPECT_EQ(publisher.publish(first, one, kHandOver), 2U);
  EXPECT_EQ(publisher.publish(second, other, kHandOver), 1U);
  sink.report(2, PublishEnd::kPublished);
  sink.report(1, PublishEnd::kFailed);
  publisher.collect(kHandOver);
  EXPECT_THAT(one.tickets, ElementsAre(8));
  EXPECT_THAT(other.tickets, ElementsAre(7));
  EXPECT_EQ(publisher.in_flight(), 1U);
}

TEST(Publisher, WhatTheSinkDidNotTakeKeepsItsTicketAndIsNotReported) {
  SmallSink sink(1);
  Publisher publisher(sink);
  Taker taker;
  auto all = with_tickets({1, 2});
  EXPECT_EQ(publisher.publish(all, taker, kHandOver), 1U);
  EXPECT_EQ(all[1].ticket, 2U);
  EXPECT_EQ(publisher.in_flight(), 1U);
}

TEST(Publisher, IsStalledWhileAPublishIsUnacknowledgedForASecondAndUntilOneIsAcknowledged) {
  SmallSink sink(100);
  Publisher publisher(sink);
  Taker taker;
  auto all = with_tickets({1});
  publisher.publish(all, taker, kHandOver);
  EXPECT_FALSE(publisher.is_stalled(kHandOver + 1s));
  EXPECT_TRUE(publisher.is_stalled(kHandOver + 1001ms));
  EXPECT_EQ(publisher.room(kHandOver + 1001ms), Publisher::kProbes - 1);

  sink.report(0, PublishEnd::kUnknown);
  publisher.collect(kHandOver + 2s);
  EXPECT_TRUE(publisher.is_stalled(kHandOver + 2s)) << "a failure is no sign of life";

  auto probe = with_tickets({2});
  publisher.publish(probe, taker, kHandOver + 2s);
  sink.report(1, PublishEnd::kPublished);
  publisher.collect(kHandOver + 2010ms);
  EXPECT_FALSE(publisher.is_stalled(kHandOver + 2010ms));
}

}  // namespace
}  // namespace horae
