#include "stores/headers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace horae {
namespace {

using std::string_literals::operator""s;

TEST(Headers, NullAndEmptyAreDifferentAndOrderIsKept) {
  const std::vector<MessageHeader> headers = {{"a", ""}, {"a", std::nullopt}, {"", "\0\xFF"s}, {"a", "b"}};
  EXPECT_EQ(decode_headers(encode_headers(headers)).value(), headers);
  EXPECT_TRUE(decode_headers("").value().empty());
}

RC_GTEST_PROP(Headers, AnyHeadersComeBackAsTheyWere, (const std::vector<std::pair<std::string, std::string>>& pairs)) {
  std::vector<MessageHeader> headers;
  for (const auto& [name, value] : pairs) headers.push_back({name, value});
  RC_ASSERT(decode_headers(encode_headers(headers)).value() == headers);
}

RC_GTEST_PROP(Headers, DamagedBytesAreAnErrorNotACrash, (const std::string& bytes)) {
  const auto decoded = decode_headers(bytes);
  if (decoded.ok()) RC_ASSERT(encode_headers(*decoded) == bytes);
}

}  // namespace
}  // namespace horae
