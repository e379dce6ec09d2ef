#include "agent/exec/exec_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/agent/test_agent.h"

namespace horae::agent {
namespace {

using horae::testing::TemporaryFolder;
using horae::testing::wait_until;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::OneRun;
using testing::pid_in;
using testing::shell;
using ::testing::StartsWith;
using testing::stubborn;

std::string end_of(const std::string& spec, const ExecOptions& options = {}) { return OneRun(spec, options).end(); }

TEST(ExecExecutor, CompletesWithExitCodeAndOutput) {
  EXPECT_THAT(
      end_of(shell("echo hello; echo you >&2")),
      MatchesRegex(R"(done \{"exit_code":0,"seconds":[0-9.e-]+,"output":"hello\\nyou\\n","output_bytes":10\})"));
}

TEST(ExecExecutor, FailsWithTheExitCodeOrTheSignal) {
  EXPECT_THAT(end_of(shell("echo oh; exit 3")),
              AllOf(StartsWith("failed exit_code exited with 3 {\"exit_code\":3,"), HasSubstr("\"output\":\"oh\\n\"")));
  EXPECT_THAT(end_of(shell("kill -SEGV $$")),
              StartsWith("failed signal was ended by SIGSEGV {\"signal\":\"SIGSEGV\","));
  EXPECT_THAT(end_of(shell("exit 3", R"(,"success_codes":[0,3])")), StartsWith("done {\"exit_code\":3,"));
}

TEST(ExecExecutor, RefusesWhatItCannotOrMayNotRun) {
  EXPECT_THAT(end_of(R"({"run":"exec","argv":["cat","/etc/passwd"]})"),
              StartsWith("failed not_allowed this agent may"));
  EXPECT_THAT(end_of(R"({"run":"exec"})"), StartsWith("failed bad_spec argv: "));
  EXPECT_THAT(end_of(shell("true", R"(,"secrets":{"KEY":"none"})")),
              StartsWith("failed not_allowed this agent has no"));
  EXPECT_THAT(end_of(shell("true", R"(,"cwd":"/nonexistent")")),
              StartsWith("failed cannot_start sh: the working directory cannot be entered: No such file"));
}

TEST(ExecExecutor, GivesAnEnvironmentOfItsOwn) {
  EXPECT_THAT(
      end_of(shell("env | sort | cut -d= -f1 | tr '\\n' ' '", R"(,"env":{"LEVEL":"9"})")),
      HasSubstr(R"("output":"HOME HORAE_ATTEMPT HORAE_CHECKPOINT HORAE_QUEUE HORAE_RESULT HORAE_TASK_ID LEVEL PATH )"
                R"(PWD ")"));
  EXPECT_THAT(end_of(shell("echo $HORAE_TASK_ID $HORAE_ATTEMPT $HORAE_QUEUE $LEVEL", R"(,"env":{"LEVEL":"9"})")),
              HasSubstr("0190f7c2-0a1b-7c3d-8e4f-0123456789ab 2 mail 9\\n"));
}

TEST(ExecExecutor, PassesNoOpenFileButThreeAndStandardInput) {
  EXPECT_THAT(end_of(shell("ls /proc/self/fd | wc -l; cat", R"(,"stdin":"given")")),
              HasSubstr(R"("output":"4\ngiven")"));
  EXPECT_THAT(end_of(shell("cat")), HasSubstr(R"("output":"")"));
}

TEST(ExecExecutor, TakesTheResultFromItsFile) {
  EXPECT_EQ(end_of(shell("echo '{\"sent\": 1.0}' > $HORAE_RESULT")), "done {\"sent\": 1.0}");
  EXPECT_THAT(end_of(shell("echo what > $HORAE_RESULT")), StartsWith("failed bad_result HORAE_RESULT: "));
  EXPECT_THAT(end_of(shell("ln -s /etc/hostname $HORAE_RESULT")), StartsWith("done {\"exit_code\":0"));
}

TEST(ExecExecutor, ReportsProgressAndCheckpoints) {
  OneRun run(shell("cat $HORAE_CHECKPOINT > seen; echo ::progress 0.5; printf 7 > $HORAE_CHECKPOINT; mv seen ready; "
                   "sleep 1000"),
             {}, "\"six\"");
  const std::string folder = run.folder() + "/0190f7c2-0a1b-7c3d-8e4f-0123456789ab-2";
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(folder + "/ready"); }));
  EXPECT_EQ(testing::content_of(folder + "/ready"), "\"six\"");
  EXPECT_TRUE(wait_until([&] {
    run.agent().say('p');
    return run.end().starts_with("0.5");
  }));
  std::ofstream(folder + "/checkpoint") << "{\"half";
  run.agent().say('p');
  EXPECT_EQ(run.end(), "0.500000 -");
  std::ofstream(folder + "/checkpoint") << "{\"half\": 1}";
  run.agent().say('p');
  EXPECT_EQ(run.end(), "0.500000 {\"half\": 1}");
  run.agent().say('s');
  EXPECT_EQ(run.end(), "stopped 0.500000 -");
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(ExecExecutor, EndsWhenTheProgramEndsAlthoughABackgroundChildHoldsThePipe) {
  const TemporaryFolder files;
  OneRun run(shell(stubborn(files.path() + "/pid") + "sleep 1000 & while [ ! -s " + files.path() +
                   "/pid ]; do :; done; echo done"));
  EXPECT_THAT(run.end(), AllOf(StartsWith("done "), HasSubstr("\"output\":\"done\\n\"")));
  EXPECT_TRUE(testing::is_gone(pid_in(files.path() + "/pid")));
}

TEST(ExecExecutor, KillsEveryDescendantAfterTheGraceTime) {
  const TemporaryFolder files;
  OneRun run(shell("trap '' TERM; " + stubborn(files.path() + "/pid") + " while :; do sleep 0.05; done",
                   R"(,"grace":"100ms")"));
  const pid_t pid = pid_in(files.path() + "/pid");
  EXPECT_FALSE(testing::is_gone(pid));
  run.agent().say('s');
  EXPECT_EQ(run.end(), "stopped - -");
  EXPECT_TRUE(testing::is_gone(pid));
}

TEST(ExecExecutor, GivesEveryDescendantTheChanceToEndByItself) {
  const TemporaryFolder files;
  const std::string child =
      "trap 'echo child; exit' TERM; echo $$ > " + files.path() + "/pid; while :; do sleep 0.05; done";
  std::ofstream(files.path() + "/child.sh") << child;
  OneRun run(shell("trap 'wait; echo parent > " + files.path() + "/parent; exit' TERM; setsid sh " + files.path() +
                       "/child.sh > " + files.path() + "/out & while :; do sleep 0.05; done",
                   R"(,"grace":"1m")"));
  (void)pid_in(files.path() + "/pid");
  run.agent().say('s');
  EXPECT_EQ(run.end(), "stopped - -");
  EXPECT_EQ(testing::content_of(files.path() + "/out"), "child\n");
  EXPECT_EQ(testing::content_of(files.path() + "/parent"), "parent\n");
}

TEST(ExecExecutor, EndsAProgramThatRunsTooLongOrMakesNoProgress) {
  EXPECT_THAT(end_of(shell("sleep 1000", R"(,"timeout":"50ms")")),
              StartsWith("failed timed_out ran longer than 50ms {"));
  EXPECT_THAT(end_of(shell("echo ::progress 0.1; sleep 1000", R"(,"progress_timeout":"50ms")")),
              StartsWith("failed timed_out no progress for 50ms {"));
}

TEST(ExecExecutor, LimitsResources) {
  EXPECT_THAT(end_of(shell("ulimit -n; ulimit -f", R"(,"limits":{"open_files":17,"file_bytes":1024})")),
              HasSubstr(R"("output":"17\n2\n")"));
}

TEST(ExecExecutor, MasksSecretsInTheOutput) {
  const TemporaryFolder secrets;
  std::ofstream(secrets.path() + "/mail") << "hunter22\n";
  EXPECT_THAT(end_of(shell("echo ${#KEY} $KEY", R"(,"secrets":{"KEY":"mail"})"), {.secrets = secrets.path()}),
              HasSubstr(R"("output":"8 ***\n")"));
}

TEST(ExecExecutor, HoldsAGigabyteOfOutputInLittleMemory) {
  OneRun run(shell("head -c 1000000000 /dev/zero"));
  const std::string end = run.end();
  EXPECT_THAT(end, AllOf(StartsWith("done "), HasSubstr("\"output_bytes\":1000000000")));
  EXPECT_LT(end.size(), 100'000U);
  run.agent().say('m');
  EXPECT_LT(std::stoi(run.end()), 100'000);
}

TEST(ExecExecutor, RunsAsTheUserThatIsNamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root";
  // The run goes through OneRun's options except for the user, so the rules are used directly.
  const TemporaryFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::others_exec | std::filesystem::perms::owner_all);
  horae::agent::testing::TestAgent agent([&](const ProcessStarter& starter, int input, int output) {
    const auto rules = ExecRules::make({.programs = {"/bin/sh"}, .user = "nobody"}, {{"PATH", "/usr/bin:/bin"}});
    const SystemClock clock;
    ExecExecutor executor(*rules, std::chrono::seconds(1), folder.path(), starter, clock);
    LeasedTask task{.spec = shell("id -un; echo '1' > $HORAE_RESULT; grep NoNewPrivs /proc/self/status >&2"),
                    .attempt = 1};
    executor.start(1, task, clock.now(),
                   [&](const RunEnd& end) { testing::write_line(output, testing::describe(end)); });
    char sign = 0;
    while (::read(input, &sign, 1) == 1) continue;
    return 0;
  });
  EXPECT_EQ(agent.read_line(), "done 1");
}

}  // namespace
}  // namespace horae::agent
