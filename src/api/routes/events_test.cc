// Events over HTTP: where a reader resumes after a break.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"

namespace horae::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// While a reader that has left may come back.
void happen(ApiWorld& world, std::size_t times) {
  world.events().leave(world.events().join([] {}));
  const std::vector<LiveEvent> events(times, LiveEvent{.task = TaskId(), .state = State::kReady, .queue = "mail"});
  world.events().add(events);
}

// The first piece that a reader with a position gets.
std::string first_piece(ApiWorld& world, std::string_view target, std::string_view headers = {}) {
  TestClient reader = world.connect();
  if (!reader.send(request_text("GET", target, {}, headers))) return "closed";
  const auto head = reader.receive(true);
  if (!head || head->status != 200) return "refused";
  return reader.receive_chunk().value_or("closed");
}

::testing::Matcher<std::string> goes_on_after_the_first_of_three() {
  return AllOf(HasSubstr("id: worker-0:2\nevent: task"), HasSubstr("id: worker-0:3\nevent: task"),
               Not(HasSubstr("id: worker-0:1\nevent")), Not(HasSubstr("resync")));
}

TEST(Events, ResumeAfterTheLastSeenEvent) {
  ApiWorld world;
  happen(world, 3);
  EXPECT_THAT(first_piece(world, "/v1/events", "Last-Event-ID: worker-0:1\r\n"), goes_on_after_the_first_of_three());
  EXPECT_THAT(first_piece(world, "/v1/events?after=worker-0:1"), goes_on_after_the_first_of_three());
  EXPECT_THAT(first_piece(world, "/v1/events?after=worker-0:3", "Last-Event-ID: worker-0:1\r\n"),
              goes_on_after_the_first_of_three())
      << "a browser that reconnects keeps the address and sends its position in the header";
}

TEST(Events, AReaderWithoutAPositionGetsNewEventsOnly) {
  ApiWorld world;
  happen(world, 3);
  EXPECT_THAT(first_piece(world, "/v1/events"), AllOf(HasSubstr("id: worker-0:3\n\n"), Not(HasSubstr("event:"))));
}

TEST(Events, AReaderGetsResyncIfItsPositionIsGone) {
  ApiWorld world;
  constexpr std::size_t kCapacity = 1 << 16;
  happen(world, kCapacity + 10);
  const std::string resync = fmt::format("id: worker-0:{}\nevent: resync\n", kCapacity + 10);
  EXPECT_THAT(first_piece(world, "/v1/events", "Last-Event-ID: worker-0:5\r\n"), HasSubstr(resync));
  EXPECT_THAT(first_piece(world, "/v1/events?after=worker-0:5"), HasSubstr(resync));
  EXPECT_THAT(first_piece(world, fmt::format("/v1/events?after=worker-0:{}", kCapacity + 9)),
              AllOf(HasSubstr("event: task"), Not(HasSubstr("resync"))));
}

TEST(Events, AReaderOfAnotherNodeOrAnEarlierRunGetsResync) {
  ApiWorld world;
  happen(world, 3);
  for (const char* last : {"worker-7:2", "worker-0:99", "nonsense"}) {
    EXPECT_THAT(first_piece(world, "/v1/events", fmt::format("Last-Event-ID: {}\r\n", last)),
                HasSubstr("id: worker-0:3\nevent: resync"));
  }
}

}  // namespace
}  // namespace horae::testing
