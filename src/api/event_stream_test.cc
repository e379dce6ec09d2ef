#include "api/event_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using std::literals::operator""s;

class EventStreamTest : public ::testing::Test {
 protected:
  EventStreamTest() {
    (void)ring_.join([] {});
  }  // without a reader, nothing is kept

  static TaskId task(std::uint8_t number) {
    TaskId id;
    id.bytes[0] = number;
    return id;
  }

  void happen(const LiveEvent& event) { ring_.add(std::span(&event, 1)); }

  std::unique_ptr<EventStream> open(EventFilter filter = {}, std::optional<std::uint64_t> last = std::nullopt) {
    return std::make_unique<EventStream>(ring_, clock_, "worker-7", std::move(filter), last);
  }

  static Scope scope_of(const char* pattern) {
    return std::make_shared<const QueueScope>(QueueScope::of({pattern}).value());
  }

  EventRing ring_{8};
  ManualClock clock_;
};

TEST_F(EventStreamTest, SendsEventsFromNowOn) {
  happen({task(1), State::kReady, "mail"});
  const auto stream = open();
  EXPECT_THAT(stream->next(), StartsWith("retry: 1000\nid: worker-7:1\n\n"));
  EXPECT_EQ(stream->next(), "");
  happen({task(1), State::kRunning, "mail"});
  EXPECT_EQ(stream->next(),
            "id: worker-7:2\nevent: task\n"
            "data: {\"task\":\"01000000-0000-0000-0000-000000000000\",\"state\":\"running\",\"queue\":\"mail\"}\n\n");
  EXPECT_EQ(stream->next(), "");
}

TEST_F(EventStreamTest, ResumesAfterTheLastSeenEvent) {
  happen({task(1), State::kReady, "mail"});
  happen({task(2), State::kReady, "mail"});
  const std::string piece = open({}, 1)->next();
  EXPECT_THAT(piece, HasSubstr("worker-7:2\nevent: task"));
  EXPECT_THAT(piece, Not(HasSubstr("resync")));
}

TEST_F(EventStreamTest, SendsResyncIfTheLastSeenEventIsGone) {
  for (std::uint8_t i = 1; i <= 12; ++i) happen({task(i), State::kReady, "mail"});
  EXPECT_THAT(open({}, 2)->next(), HasSubstr("id: worker-7:12\nevent: resync\ndata: {}\n\n"));
}

TEST_F(EventStreamTest, SendsResyncToAReaderOfAnotherNode) {
  happen({task(1), State::kReady, "mail"});
  const auto stream = open({}, 99);
  EXPECT_EQ(stream->next(), "retry: 1000\nid: worker-7:1\n\nid: worker-7:1\nevent: resync\ndata: {}\n\n");
  EXPECT_EQ(stream->next(), "");
}

TEST_F(EventStreamTest, SendsResyncToASlowReaderThatMissedEvents) {
  const auto stream = open();
  (void)stream->next();
  for (std::uint8_t i = 1; i <= 12; ++i) happen({task(i), State::kReady, "mail"});
  EXPECT_THAT(stream->next(), HasSubstr("event: resync"));
  happen({task(13), State::kReady, "mail"});
  EXPECT_THAT(stream->next(), HasSubstr("event: task"));
}

TEST_F(EventStreamTest, FiltersByTaskOrQueue) {
  const auto of_task = open({.task = task(2), .queue = std::nullopt, .scope = nullptr});
  const auto of_queue = open({.task = std::nullopt, .queue = "mail", .scope = nullptr});
  (void)of_task->next();
  (void)of_queue->next();
  happen({task(1), State::kReady, "mail"});
  EXPECT_EQ(of_task->next(), "");
  EXPECT_THAT(of_queue->next(), HasSubstr("mail"));
  happen({task(2), State::kReady, "post"});
  EXPECT_THAT(of_task->next(), HasSubstr("post"));
  EXPECT_EQ(of_queue->next(), "");
}

TEST_F(EventStreamTest, SendsNothingOutsideTheScope) {
  const auto stream = open({.task = std::nullopt, .queue = std::nullopt, .scope = scope_of("mail*")});
  (void)stream->next();
  happen({task(1), State::kReady, "secret"});
  EXPECT_EQ(stream->next(), "");
  happen({task(2), State::kCompleted, ""});  // its queue is unknown
  const std::string piece = stream->next();
  EXPECT_THAT(piece, HasSubstr("resync"));
  EXPECT_THAT(piece, Not(HasSubstr("02000000")));
}

TEST_F(EventStreamTest, SendsAKeepAliveWhileThereAreNoEvents) {
  const auto stream = open();
  (void)stream->next();
  clock_.advance(9s);
  EXPECT_EQ(stream->next(), "");
  clock_.advance(1s);
  EXPECT_EQ(stream->next(), ":\n\n");
  EXPECT_EQ(stream->next(), "");
}

TEST_F(EventStreamTest, IsOverOnceItsReaderMayNotGoOn) {
  bool may_go_on = true;
  EventStream stream(ring_, clock_, "worker-7", {}, std::nullopt, [&] { return may_go_on; });
  (void)stream.next();
  EXPECT_FALSE(stream.is_over());
  may_go_on = false;
  happen({task(1), State::kReady, "mail"});
  EXPECT_EQ(stream.next(), "") << "what happens after that is not for it";
  EXPECT_TRUE(stream.is_over());
}

TEST_F(EventStreamTest, IsWokenUntilItEnds) {
  int woken = 0;
  auto stream = open();
  stream->begin([&woken] { ++woken; });
  happen({task(1), State::kReady, "mail"});
  EXPECT_EQ(woken, 1);
  stream.reset();
  happen({task(1), State::kRunning, "mail"});
  EXPECT_EQ(woken, 1);
}

TEST(EventId, BelongsToItsNode) {
  EXPECT_EQ(parse_event_id("worker-7:123", "worker-7"), 123U);
  EXPECT_EQ(parse_event_id("worker-71:123", "worker-7"), std::nullopt);
  EXPECT_EQ(parse_event_id("worker-8:123", "worker-7"), std::nullopt);
  EXPECT_EQ(parse_event_id("worker-7:12x", "worker-7"), std::nullopt);
  EXPECT_EQ(parse_event_id("", "worker-7"), std::nullopt);
}

}  // namespace
}  // namespace horae
