#include "base/text/base64.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace horae {
namespace {

TEST(Base64, WritesTheExamplesOfItsStandard) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64(std::string("\xFB\xFF\0", 3)), "+/8A");
}

RC_GTEST_PROP(Base64, AnyBytesComeBackAsTheyWere, (const std::string& bytes)) {
  RC_ASSERT(from_base64(to_base64(bytes)) == bytes);
}

TEST(Base64, RefusesWhatItWouldNotWrite) {
  for (const char* text :
       {"Zg", "Zg=", "Z", "Zh==", "Zm9=", "====", "=", "Z===", "Zm8=Zm8=", "Zm 9", "Zm9v\n", "-_8A"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace horae
