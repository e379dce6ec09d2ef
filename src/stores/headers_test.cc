#include "stores/headers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <string>
#include <tuple>

namespace horae {
namespace {

using std::string_literals::operator""s;

TEST(Headers, AreWrittenAsChronosDoes) {
  const std::vector<MessageHeader> headers = {{"a", "1"},         {"a", "\xC3\xA9\""}, {"", ""}, {"none", std::nullopt},
                                              {"raw", "\xFF\0"s}, {"\xFF", "x"}};
  EXPECT_EQ(encode_headers(headers),
            R"([{"a":"1"},{"a":"é\""},{"":""},{"none":null},{"raw":{"base64":"/wA="}},[{"base64":"/w=="},"x"]])");
  EXPECT_EQ(encode_headers({}), "[]");
}

TEST(Headers, NullAndEmptyAreDifferentAndOrderIsKept) {
  const std::vector<MessageHeader> headers = {
      {"a", ""}, {"a", std::nullopt}, {"", "\0\xFF"s}, {"a", "b"}, {"\xFF", ""}};
  EXPECT_EQ(decode_headers(encode_headers(headers)).value(), headers);
  EXPECT_TRUE(decode_headers("[]").value().empty());
}

RC_GTEST_PROP(Headers, AnyHeadersComeBackAsTheyWere,
              (const std::vector<std::tuple<std::string, std::string, bool>>& tuples)) {
  std::vector<MessageHeader> headers;
  for (const auto& [name, value, is_null] : tuples) headers.push_back({name, is_null ? Bytes() : Bytes(value)});
  RC_ASSERT(decode_headers(encode_headers(headers)).value() == headers);
}

TEST(Headers, DamagedTextIsAnError) {
  for (const char* text : {"", "{}", "null", "[1]", "[{}]", R"([{"a":1}])", R"([{"a":{"base64":"?"}}])",
                           R"([{"a":{"b":"c"}}])", R"([["a"]])", R"([{"a":"b","c":"d"}])", R"([{"a":"b"})"}) {
    EXPECT_FALSE(decode_headers(text).ok()) << text;
  }
}

RC_GTEST_PROP(Headers, AnyBytesAreReadWithoutACrash, (const std::string& bytes)) { (void)decode_headers(bytes); }

}  // namespace
}  // namespace horae
