#include "cli/nouns/task_submit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/time_text.h"

namespace horae::cli {
namespace {

using ::testing::HasSubstr;

class SubmitBody : public ::testing::Test {
 protected:
  std::string body(const NewTaskFlags& flags) {
    const auto made = submit_body(flags, "ID", *parse_instant("2030-01-01T00:00:00Z"), in_);
    return made.ok() ? *made : "error: " + made.error().message;
  }

  std::istringstream in_;
};

TEST_F(SubmitBody, OmitsFieldsWithoutAFlag) {
  EXPECT_EQ(body({.queue = "mail", .spec = "1"}), R"({"queue":"mail","id":"ID","spec":1})");
}

TEST_F(SubmitBody, HasTheFieldsOfAllFlags) {
  EXPECT_EQ(body({.queue = "mail",
                  .spec = "{}",
                  .key = "a \"b\"",
                  .priority = 200,
                  .in = "1h",
                  .every = "1h30m",
                  .max_attempts = 3,
                  .retry = "fixed",
                  .retry_delay = "5s"}),
            R"({"queue":"mail","id":"ID","spec":{},"key":"a \"b\"","priority":200,"run_at":"2030-01-01T01:00:00Z",)"
            R"("recurring":"1h30m","max_attempts":3,"retry":{"kind":"fixed","delay":"5s"}})");
}

TEST_F(SubmitBody, KeepsTheExactBytesOfTheSpec) {
  const std::string spec = R"({ "n": 1.0, "n": 100000000000000000000,  "s":"\u0041" })";
  EXPECT_THAT(body({.queue = "mail", .spec = spec}), HasSubstr("\"spec\":" + spec + "}"));
}

TEST_F(SubmitBody, ReadsTheSpecFromStandardInput) {
  in_.str("[1,2]\n");
  EXPECT_EQ(body({.queue = "mail", .spec = "-"}), "{\"queue\":\"mail\",\"id\":\"ID\",\"spec\":[1,2]\n}");
}

TEST_F(SubmitBody, BuildsTheSpecOfASleep) {
  EXPECT_THAT(body({.queue = "demo", .sleep = "5s"}), HasSubstr(R"("spec":{"run":"sleep","for":"5s"})"));
}

TEST_F(SubmitBody, RefusesASpecThatIsNotOneJsonValue) {
  for (const char* spec : {"{", "hello", "1 2", R"(1,"queue":"other")", "@no such file"}) {
    EXPECT_THAT(body({.queue = "mail", .spec = spec}), HasSubstr("error: SPEC ")) << spec;
  }
  in_.str("");
  EXPECT_THAT(body({.queue = "mail", .spec = "-"}), HasSubstr("error: SPEC "));
}

TEST_F(SubmitBody, RefusesInvalidTimes) {
  EXPECT_THAT(body({.queue = "mail", .spec = "1", .at = "tomorrow"}), HasSubstr("error: --at: "));
  EXPECT_THAT(body({.queue = "mail", .spec = "1", .in = "soon"}), HasSubstr("error: --in: "));
}

}  // namespace
}  // namespace horae::cli
