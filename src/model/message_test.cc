#include "model/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/time_text.h"

namespace horae {
namespace {

using std::chrono_literals::operator""ms;
using std::string_literals::operator""s;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const MessageHeader kId{"chronosMessageId", "3767d5c7-aced-45e5-91f1-3f7ad8205a3f"};
const MessageHeader kDeadline{"chronosDeadline", "2022-12-01T11:09:01.123"};

std::string failure(std::vector<MessageHeader> headers) {
  const auto message = message_from_record("k", "v", std::move(headers));
  if (message.ok()) return "";
  EXPECT_EQ(message.error().code, ErrorCode::kMalformed);
  return message.error().message;
}

TEST(Message, ReadsTheHeadersOfTheChronosDocument) {
  const auto message = message_from_record("k", "v", {kId, kDeadline}).value();
  EXPECT_EQ(message.id, "3767d5c7-aced-45e5-91f1-3f7ad8205a3f");
  EXPECT_EQ(format_instant(message.deadline), "2022-12-01T11:09:01.123Z");
  EXPECT_TRUE(message.headers.empty());
}

TEST(Message, KeepsOtherHeadersByteForByteInTheirOrderAlsoRepeatedOnes) {
  const MessageHeader a{"trace", "1"}, b{"trace", "2"}, c{"empty", ""}, d{"null", std::nullopt}, e{"raw", "\0\xFF"s};
  const auto message = message_from_record(std::nullopt, "", {a, kDeadline, b, c, kId, d, e}).value();
  EXPECT_THAT(message.headers, ElementsAre(a, b, c, d, e));
  EXPECT_EQ(message.key, std::nullopt);
  EXPECT_EQ(message.value, "");
}

TEST(Message, NamesTheWrongHeader) {
  EXPECT_EQ(failure({kDeadline}), "header chronosMessageId is missing");
  EXPECT_EQ(failure({kId}), "header chronosDeadline is missing");
  EXPECT_EQ(failure({kId, kId, kDeadline}), "header chronosMessageId is there twice");
  EXPECT_EQ(failure({{"chronosMessageId", std::nullopt}, kDeadline}), "header chronosMessageId has no value");
  EXPECT_EQ(failure({{"chronosmessageid", "x"}, kDeadline}), "header chronosMessageId is missing");
  EXPECT_THAT(failure({kId, {"chronosDeadline", "tomorrow"}}), HasSubstr("header chronosDeadline: "));
  EXPECT_THAT(failure({{"chronosMessageId", ""}, kDeadline}), HasSubstr("give 1 to 128 characters"));
  EXPECT_THAT(failure({{"chronosMessageId", std::string(129, 'x')}, kDeadline}), HasSubstr("give 1 to 128 characters"));
}

TEST(Message, ReadsTheHeadersByTheirConfiguredNames) {
  const HeaderNames names{.id = "x-id", .deadline = "x-due"};
  const MessageHeader id{"x-id", "a"}, due{"x-due", "2022-12-01T11:09:01+02:00"};
  const auto message = message_from_record("k", "v", {kId, id, due, kDeadline}, names).value();
  EXPECT_EQ(message.id, "a");
  EXPECT_EQ(format_instant(message.deadline), "2022-12-01T09:09:01Z");
  EXPECT_THAT(message.headers, ElementsAre(kId, kDeadline));
  EXPECT_EQ(message_from_record("k", "v", {kId, kDeadline}, names).error().message, "header x-id is missing");
}

TEST(Message, ClassifiesBadRecordsForFigures) {
  EXPECT_EQ(record_fault({kId}), "missing_header");
  EXPECT_EQ(record_fault({kId, kId, kDeadline}), "repeated_header");
  EXPECT_EQ(record_fault({kId, {"chronosDeadline", "tomorrow"}}), "malformed_header");
}

TEST(Message, IsDueFromTheTimingAdvanceBeforeItsDeadlineOn) {
  const Instant deadline = parse_instant("2022-12-01T11:09:01Z").value();
  EXPECT_FALSE(is_due(deadline, deadline - 51ms, 50ms));
  EXPECT_TRUE(is_due(deadline, deadline - 50ms, 50ms));
  EXPECT_TRUE(is_due(deadline, deadline, 50ms));
  EXPECT_FALSE(is_due(latest_instant(), earliest_instant(), 50ms));
  EXPECT_TRUE(is_due(earliest_instant(), latest_instant(), 50ms));
}

}  // namespace
}  // namespace horae
