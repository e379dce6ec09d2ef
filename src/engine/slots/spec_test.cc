#include "engine/slots/spec.h"

#include <gmock/gmock.h>

namespace horae {
namespace {

using ::testing::HasSubstr;

std::string failure(std::string_view spec) {
  const auto read = read_spec_text(spec, "run");
  return read.ok() ? "" : read.error().message;
}

TEST(Spec, ReadsATextByItsName) {
  EXPECT_EQ(*read_spec_text(R"({"run":"sleep","for":"3s"})", "run"), "sleep");
  EXPECT_EQ(*read_spec_text(R"({"run":"sleep","for":"3s"})", "for"), "3s");
  EXPECT_EQ(*read_spec_text(R"( { "run" : "sl\u0065\"ep" } )", "run"), "sle\"ep");
}

TEST(Spec, ExplainsWhatIsWrong) {
  EXPECT_THAT(failure("{"), HasSubstr("the spec: not valid JSON"));
  EXPECT_THAT(failure(""), HasSubstr("not valid JSON"));
  EXPECT_THAT(failure("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(failure("{}"), HasSubstr("no \"run\""));
  EXPECT_THAT(failure(R"({"run":5})"), HasSubstr("not a text"));
  EXPECT_THAT(failure(std::string(1000, '[')), HasSubstr("too deep"));  // deep nesting is refused, not followed
}

}  // namespace
}  // namespace horae
