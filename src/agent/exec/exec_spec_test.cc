#include "agent/exec/exec_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace horae::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using std::literals::operator""s;

TEST(ExecSpec, HasDefaultsForEverythingButArgv) {
  const auto spec = read_exec_spec(R"({"run":"exec","argv":["true"]})");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_THAT(spec->argv, ElementsAre("true"));
  EXPECT_THAT(spec->success_codes, ElementsAre(0));
  EXPECT_EQ(spec->timeout, std::nullopt);
}

TEST(ExecSpec, ReadsAllFields) {
  const auto spec = read_exec_spec(
      R"({"run":"exec","argv":["backup","--all"],"cwd":"/srv","env":{"LEVEL":"9"},"stdin":"a\nb",)"
      R"("secrets":{"API_KEY":"backup-key"},"timeout":"1h","progress_timeout":"5m","grace":"30s","success_codes":[0,3],)"
      R"("limits":{"cpu_seconds":60,"file_bytes":1}})");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->folder, "/srv");
  EXPECT_THAT(spec->environment, ElementsAre(Pair("LEVEL", "9")));
  EXPECT_EQ(spec->input, "a\nb");
  EXPECT_THAT(spec->secrets, ElementsAre(Pair("API_KEY", "backup-key")));
  EXPECT_EQ(spec->timeout, std::chrono::hours(1));
  EXPECT_EQ(spec->progress_timeout, std::chrono::minutes(5));
  EXPECT_EQ(spec->grace, std::chrono::seconds(30));
  EXPECT_THAT(spec->success_codes, ElementsAre(0, 3));
  EXPECT_THAT(spec->limits, ElementsAre(ResourceLimit{RLIMIT_CPU, 60}, ResourceLimit{RLIMIT_FSIZE, 1}));
}

TEST(ExecSpec, NamesTheFieldThatIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"run":"exec"})", "argv"},
      {R"({"run":"exec","argv":[]})", "argv"},
      {R"({"run":"exec","argv":[""]})", "argv"},
      {R"({"run":"exec","argv":["a",1]})", "argv"},
      {R"({"run":"exec","argv":["a\u0000b"]})", "argv"},
      {R"({"run":"exec","argv":["a"],"cwd":"here"})", "cwd"},
      {R"({"run":"exec","argv":["a"],"env":{"LD_PRELOAD":"x"}})", "LD_PRELOAD"},
      {R"({"run":"exec","argv":["a"],"env":{"HORAE_TASK_ID":"x"}})", "HORAE_TASK_ID"},
      {R"({"run":"exec","argv":["a"],"env":{"A=B":"x"}})", "A=B"},
      {R"({"run":"exec","argv":["a"],"env":{"A":1}})", "env"},
      {R"({"run":"exec","argv":["a"],"timeout":"0s"})", "timeout"},
      {R"({"run":"exec","argv":["a"],"grace":"soon"})", "grace"},
      {R"({"run":"exec","argv":["a"],"success_codes":[256]})", "success_codes"},
      {R"({"run":"exec","argv":["a"],"success_codes":[]})", "success_codes"},
      {R"({"run":"exec","argv":["a"],"limits":{"cpu_seconds":0}})", "cpu_seconds"},
      {R"({"run":"exec","argv":["a"],"limits":{"memory":1}})", "memory"},
      {R"({"run":"exec","argv":["a"],"shell":true})", "shell"},
  };
  for (const auto& [spec, field] : wrong) {
    const auto read = read_exec_spec(spec);
    ASSERT_FALSE(read.ok()) << spec;
    EXPECT_EQ(read.error().code, ErrorCode::kMalformed) << spec;
    EXPECT_THAT(read.error().message, HasSubstr(field)) << spec;
  }
}

}  // namespace
}  // namespace horae::agent
