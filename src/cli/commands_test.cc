// Commands against a real node in this process, and parsing of command lines.

#include "cli/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "api/test_world.h"
#include "cli/terminal/test_terminal.h"
#include "tests/support/temporary_folder.h"

namespace horae::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class NodeTest : public ::testing::Test {
 protected:
  NodeTest() { terminal_.environment["HORAE_NODE"] = "http://127.0.0.1:" + std::to_string(server_.port()) + "/"; }

  testing::ApiWorld world_;
  testing::TestServer server_{
      [this](HttpRequest request, const Responder& responder) { world_.api().handle(std::move(request), responder); }};
  TestTerminal terminal_;
};

TEST_F(NodeTest, SubmitsShowsListsAndCancelsATask) {
  const auto submitted =
      terminal_.type({"task", "submit", "mail", R"({"to": 1.0})", "--priority", "200", "--key", "k1"});
  ASSERT_EQ(submitted.exit_code, kDone) << submitted.err;
  EXPECT_THAT(submitted.out, AllOf(HasSubstr("task "), HasSubstr(" is ready\n")));
  const std::string id = submitted.out.substr(5, 36);

  const auto got = terminal_.type({"task", "get", id});
  ASSERT_EQ(got.exit_code, kDone) << got.err;
  EXPECT_THAT(got.out, AllOf(HasSubstr(id), HasSubstr(R"({"to": 1.0})"), HasSubstr("200"), HasSubstr("k1")));
  EXPECT_EQ(terminal_.type({"task", "get", "--queue", "mail", "--key", "k1"}).out, got.out);
  EXPECT_THAT(terminal_.type({"task", "list", "--queue", "mail"}).out, HasSubstr(id));

  const auto cancelled = terminal_.type({"task", "cancel", id, "--reason", "enough"});
  EXPECT_EQ(cancelled.out, "task " + id + " is cancelled\n");
  EXPECT_THAT(terminal_.type({"task", "get", id}).out, AllOf(HasSubstr("cancelled"), HasSubstr("enough")));
}

TEST_F(NodeTest, SubmittingTwiceUnderOneKeyMakesOneTask) {
  const std::vector<std::string> line = {"task", "submit", "mail", "1", "--key", "k1"};
  const auto first = terminal_.type(line);
  const auto second = terminal_.type(line);
  EXPECT_EQ(second.exit_code, kDone) << second.err;
  EXPECT_EQ(second.out.substr(0, 41), first.out.substr(0, 41));
  EXPECT_THAT(second.out, HasSubstr("(already submitted before)"));
}

// In the JSON that is sent, both would become the same replacement character.
TEST_F(NodeTest, ArgumentsThatAreNoTextAreRefusedInsteadOfMetAsOneKey) {
  for (const std::string key : {"\x80", "\xED\xA0\x80"}) {
    const auto printed = terminal_.type({"task", "submit", "mail", "1", "--key", key});
    EXPECT_EQ(printed.exit_code, kMisused);
    EXPECT_THAT(printed.err, AllOf(HasSubstr("argument 6"), HasSubstr("is not UTF-8")));
  }
  EXPECT_THAT(terminal_.type({"task", "list", "--queue", "mail"}).out, Not(HasSubstr("ready")));
}

TEST_F(NodeTest, CancelFailsIfOneOfTheTasksIsRefused) {
  const std::string id = world_.submit();
  const std::string none = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";
  const auto printed = terminal_.type({"task", "cancel", none, id});
  EXPECT_EQ(printed.exit_code, kFailed);
  EXPECT_THAT(printed.out, HasSubstr("task " + id + " is cancelled"));
  EXPECT_THAT(printed.err, HasSubstr(none));
  EXPECT_EQ(terminal_.type({"task", "cancel", none, "--json"}).exit_code, kFailed);
}

TEST_F(NodeTest, WatchReturnsWhenTheTaskHasEnded) {
  const std::string id = world_.submit();
  (void)world_.claim();
  (void)world_.settle("complete", id, 1);
  const auto printed = terminal_.type({"task", "watch", id});
  EXPECT_EQ(printed.exit_code, kDone) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("completed"));
}

TEST_F(NodeTest, ExplainsAWaitingTask) {
  const std::string id = world_.submit("mail");
  (void)terminal_.type({"queue", "pause", "mail"});
  const auto printed = terminal_.type({"task", "explain", id});
  EXPECT_EQ(printed.exit_code, kDone) << printed.err;
  EXPECT_THAT(printed.out, AllOf(HasSubstr("task " + id + " of queue mail is ready:\n  "), HasSubstr("paused")));
  EXPECT_THAT(terminal_.type({"task", "explain", id, "--json"}).out, HasSubstr(R"("reasons":[)"));
  EXPECT_EQ(terminal_.type({"task", "explain", "0190f7c2-0a1b-7c3d-8e4f-0123456789ab"}).exit_code, kFailed);
}

TEST_F(NodeTest, ListsNodes) {
  const auto printed = terminal_.type({"node", "list"});
  EXPECT_EQ(printed.exit_code, kDone) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("STATE"));
}

TEST_F(NodeTest, PausesResumesAndConfiguresQueues) {
  EXPECT_THAT(terminal_.type({"queue", "list"}).out, HasSubstr("There are no queues yet"));
  (void)world_.submit("mail");
  EXPECT_EQ(terminal_.type({"queue", "pause", "mail"}).out, "queue mail: paused, ageing rate 1, retention 168h\n");
  EXPECT_THAT(terminal_.type({"queue", "list"}).out, AllOf(HasSubstr("mail"), HasSubstr("paused")));
  EXPECT_THAT(terminal_.type({"queue", "resume", "mail"}).out, HasSubstr("open"));
  EXPECT_EQ(terminal_.type({"queue", "set", "mail", "--retention", "24h", "--ageing-rate", "0"}).out,
            "queue mail: open, ageing rate 0, retention 24h\n");
  EXPECT_EQ(terminal_.type({"queue", "set", "mail"}).exit_code, kMisused);
  EXPECT_EQ(terminal_.type({"queue", "set", "mail", "--retention", "soon"}).exit_code, kMisused);
}

TEST_F(NodeTest, PausesANewQueueOnlyWithCreate) {
  const auto slip = terminal_.type({"queue", "pause", "mial"});
  EXPECT_EQ(slip.exit_code, kFailed);
  EXPECT_THAT(slip.err, HasSubstr("queue mial: there is none"));
  EXPECT_EQ(terminal_.type({"queue", "resume", "mial"}).exit_code, kFailed);
  EXPECT_THAT(terminal_.type({"queue", "list"}).out, HasSubstr("There are no queues yet"));
  EXPECT_THAT(terminal_.type({"queue", "pause", "mail", "--create"}).out, HasSubstr("queue mail: paused"));
  EXPECT_THAT(terminal_.type({"queue", "resume", "mail"}).out, HasSubstr("open"));
}

TEST_F(NodeTest, ExplainsAnAbortedTaskByItsErrors) {
  const std::string id = world_.submit("mail");
  (void)world_.claim();
  (void)world_.settle("abort", id, 1, R"("errors":[{"code":"no_disk","description":"full"},{"code":"late"}])");
  EXPECT_THAT(terminal_.type({"task", "explain", id}).out, HasSubstr("no_disk: full; late\n"));
}

// A refusal of the node names the flags that were typed and counts as misuse, like an error that this program finds.
TEST_F(NodeTest, ARefusalNamesTheFlagAndExitsWithTwo) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> lines = {
      {{"task", "submit", "mail", "1", "--priority", "300"}, "task submit: --priority 300: "},
      {{"task", "submit", "mail", "1", "--max-attempts", "-1"}, "task submit: --max-attempts -1: "},
      {{"task", "submit", "mail", "1", "--every", "often"}, "task submit: --every: "},
      {{"task", "submit", "mail", "1", "--every", "0s"}, "task submit: --every 0s: "},
      {{"task", "submit", "mail", "1", "--retry", "maybe"}, "task submit: --retry \"maybe\": "},
      {{"task", "submit", "mail", "1", "--retry", "fixed", "--retry-delay", "x"}, "task submit: --retry-delay: "},
      {{"task", "submit", "mail", "1", "--id", "x"}, "task submit: --id: "},
      {{"task", "submit", "mail", "1", "--key", ""}, "task submit: --key \"\": "},
      {{"task", "submit", "a b", "1"}, "task submit: QUEUE \"a b\": "},
      {{"task", "submit", "mail", "1", "--wait", "--wait-limit", "x"}, "task submit: --wait-limit: "},
      {{"task", "get", "x"}, "task get: ID: "},
      {{"task", "watch", "x"}, "task watch: ID: "},
      {{"task", "watch", "x", "--wait-limit", "x"}, "task watch: --wait-limit: "},
      {{"task", "explain", "x"}, "task explain: ID: "},
      {{"task", "list", "--from", "x"}, "task list: --from: "},
      {{"task", "list", "--before", "x"}, "task list: --before: "},
      {{"task", "list", "--state", "done"}, "task list: --state \"done\": "},
      {{"task", "list", "--limit", "0"}, "task list: --limit 0: "},
      {{"task", "list", "--owner", "worker-1"}, "task list: --owner: give --from and --before at most "},
      {{"task", "cancel", "x"}, "task cancel: "},
      {{"queue", "set", "mail", "--ageing-rate", "-1"}, "queue set: --ageing-rate -1: "},
      {{"queue", "set", "mail", "--retention", "soon"}, "queue set: --retention: "},
      {{"queue", "pause", "a b"}, "queue pause: QUEUE \"a b\": "},
  };
  for (const auto& [line, said] : lines) {
    const auto printed = terminal_.type(line);
    EXPECT_EQ(printed.exit_code, kMisused) << printed.err;
    EXPECT_THAT(printed.err, StartsWith("horae " + said));
  }
}

TEST_F(NodeTest, CancelFailsIfSomeIdsAreInvalid) {
  const std::string id = world_.submit();
  EXPECT_EQ(terminal_.type({"task", "cancel", id, "x"}).exit_code, kFailed);
}

TEST_F(NodeTest, StopsAndStartsTheScheduler) {
  EXPECT_THAT(terminal_.type({"scheduler", "status"}).out, HasSubstr("running"));
  EXPECT_EQ(terminal_.type({"scheduler", "stop"}).out, "The scheduler is now stopped on all nodes.\n");
  EXPECT_EQ(terminal_.type({"scheduler", "stop"}).out, "The scheduler was already stopped on all nodes.\n");
  EXPECT_THAT(terminal_.type({"scheduler", "status"}).out, HasSubstr("stopped"));
  EXPECT_EQ(terminal_.type({"scheduler", "start"}).out, "The scheduler is now running on all nodes.\n");
}

TEST_F(NodeTest, DoctorFindsARunningNode) {
  const testing::TemporaryFolder folder;
  const auto printed = terminal_.type({"doctor", "--data", folder.path()});
  EXPECT_EQ(printed.exit_code, kDone) << printed.out;
  EXPECT_THAT(printed.out, AllOf(HasSubstr(" is running, version "), HasSubstr("the node can serve requests"),
                                 HasSubstr("does not exist yet: horae serve creates it")));
}

// ---- The doctor without a node ----

class Doctor : public ::testing::Test {
 protected:
  Doctor() { terminal_.environment["HORAE_NODE"] = "http://127.0.0.1:1"; }

  TestTerminal terminal_;
  const testing::TemporaryFolder folder_;
};

TEST_F(Doctor, PrintsWhatToDo) {
  const std::string store = "sqlite:" + folder_.path() + "/horae.db";
  ASSERT_EQ(terminal_.type({"migrate", "--store", store}).exit_code, kDone);
  const auto printed = terminal_.type({"doctor", "--data", folder_.path(), "--store", store});
  EXPECT_EQ(printed.exit_code, kDone) << printed.out;
  EXPECT_THAT(printed.out, AllOf(HasSubstr("opens, and no node uses it"), HasSubstr("up to date"),
                                 HasSubstr("synced to disk"), HasSubstr("start one with horae serve")));
}

TEST_F(Doctor, FailsIfTheNodeThatTheUserNamesCannotBeReached) {
  const auto named = terminal_.type({"doctor", "--data", folder_.path(), "--node", "http://127.0.0.1:1"});
  EXPECT_EQ(named.exit_code, kFailed) << named.out;
  EXPECT_THAT(named.out, Not(HasSubstr("start one with horae serve")));
}

TEST_F(Doctor, FailsWhenACheckIsBad) {
  std::ofstream(folder_.path() + "/horae.db") << "this is no database, and long enough to be recognized as none";
  const auto printed = terminal_.type({"doctor", "--store", "sqlite:" + folder_.path() + "/horae.db"});
  EXPECT_EQ(printed.exit_code, kFailed);
  EXPECT_THAT(printed.out, HasSubstr("bad"));
  EXPECT_EQ(terminal_.type({"doctor", "--store", "mysql://x"}).exit_code, kFailed);
}

TEST_F(Doctor, ReportsAnUnusableDataFolder) {
  const std::string file = folder_.path() + "/file";
  std::ofstream(file) << "x";
  EXPECT_THAT(terminal_.type({"doctor", "--data", file}).out, HasSubstr("is not a folder: remove it, or set data"));
  // Not writable by any user, not even root.
  const auto closed = terminal_.type({"doctor", "--data", "/proc/self"});
  EXPECT_EQ(closed.exit_code, kFailed);
  EXPECT_THAT(closed.out, HasSubstr("this user cannot write to /proc/self: change its owner to the user of the node"));
}

TEST_F(Doctor, NotesADataFolderThatOtherUsersCanRead) {
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  EXPECT_THAT(terminal_.type({"doctor", "--data", folder_.path()}).out, HasSubstr("(mode 755): chmod 700 "));
}

TEST_F(Doctor, PrintsJson) {
  const auto printed = terminal_.type({"doctor", "--data", folder_.path() + "/file", "--json"});
  EXPECT_THAT(printed.out, HasSubstr(R"([{"health":"good","what":"configuration","detail":)"));
}

TEST(Migrate, PrintsJson) {
  TestTerminal terminal;
  const testing::TemporaryFolder folder;
  const std::string store = "sqlite:" + folder.path() + "/horae.db";
  const auto dry_run = terminal.type({"migrate", "--store", store, "--dry-run", "--json"});
  EXPECT_EQ(dry_run.exit_code, kDone) << dry_run.err;
  EXPECT_THAT(dry_run.out, AllOf(StartsWith(R"({"store":")" + store + R"(","from":0,"to":)"),
                                 HasSubstr(R"("changed":false,"steps":[{"version":1,"name":"tasks"})")));
  EXPECT_THAT(terminal.type({"migrate", "--store", store, "--json"}).out, HasSubstr(R"("changed":true,"steps":[{)"));
  EXPECT_THAT(terminal.type({"migrate", "--store", store, "--json"}).out,
              EndsWith("\"changed\":false,\"steps\":[]}\n"));
}

// ---- Parsing of command lines ----

TEST(CommandLine, MisuseExitsWithTwo) {
  TestTerminal terminal;
  EXPECT_EQ(terminal.type({}).exit_code, kMisused);
  EXPECT_THAT(terminal.type({"servve"}).err, HasSubstr("servve"));
  EXPECT_EQ(terminal.type({"servve"}).exit_code, kMisused);
  EXPECT_EQ(terminal.type({"task"}).exit_code, kMisused);
  EXPECT_EQ(terminal.type({"task", "get"}).exit_code, kMisused);
  EXPECT_EQ(terminal.type({"task", "submit", "mail"}).exit_code, kMisused);
  EXPECT_EQ(terminal.type({"task", "submit", "mail", "{"}).exit_code, kMisused);
  EXPECT_EQ(terminal.type({"task", "submit", "mail", "1", "--every", "1h", "--wait"}).exit_code, kMisused);
  EXPECT_EQ(terminal.type({"task", "submit", "mail", "1", "--wait-limit", "1s"}).exit_code, kMisused);
  EXPECT_EQ(terminal.type({"task", "list", "--limmit", "1"}).exit_code, kMisused);
  for (const char* noun : {"queue", "node", "token"}) {
    const auto printed = terminal.type({noun, "list", "--timeout", "x"});
    EXPECT_EQ(printed.exit_code, kMisused) << noun;
    EXPECT_THAT(printed.err, HasSubstr("--timeout: ")) << noun;
  }
}

TEST(CommandLine, SuggestsTheNearestCommandOrFlag) {
  TestTerminal terminal;
  EXPECT_THAT(terminal.type({"servve"}).err, HasSubstr("Did you mean serve?"));
  EXPECT_THAT(terminal.type({"task", "sumbit", "mail", "1"}).err, HasSubstr("Did you mean submit?"));
  EXPECT_THAT(terminal.type({"serve", "--slot-count", "3"}).err, HasSubstr("Did you mean --slots-count?"));
  EXPECT_THAT(terminal.type({"serve", "--slot-count=3"}).err, HasSubstr("Did you mean --slots-count?"));
  EXPECT_THAT(terminal.type({"task", "list", "--state"}).err, Not(HasSubstr("Did you mean")));
}

TEST(CommandLine, NamesTheCommandAndTheWordThatItDoesNotKnow) {
  TestTerminal terminal;
  const std::vector<std::pair<std::vector<std::string>, std::string>> lines = {
      {{"tsk", "list"}, "horae: there is no command \"tsk\" (horae --help)\nDid you mean task?\n"},
      {{"task"}, "horae task: give a command: submit, get, list, cancel, watch, explain (horae task --help)\n"},
      {{"task", "lst"}, "horae task: there is no command \"lst\" (horae task --help)\nDid you mean list?\n"},
      {{"task", "list", "--stat", "running"},
       "horae task list: there is no flag --stat (horae task list --help)\nDid you mean --state?\n"},
      {{"task", "list", "more"}, "horae task list: unexpected argument: more (horae task list --help)\n"},
      {{"-x"}, "horae: unexpected argument: -x (horae --help)\n"},
      {{"task", "list", "--limit"}, "horae task list: --limit needs a value (horae task list --help)\n"},
      {{"task", "explain"}, "horae task explain: ID is required (horae task explain --help)\n"},
      {{"task", "submit", "mail", "1", "--priority", "high"},
       "horae task submit: --priority \"high\": give a whole number (horae task submit --help)\n"},
  };
  for (const auto& [line, said] : lines) {
    const auto printed = terminal.type(line);
    EXPECT_EQ(printed.exit_code, kMisused);
    EXPECT_EQ(printed.err, said);
  }
}

TEST(CommandLine, HelpHasExamples) {
  TestTerminal terminal;
  EXPECT_THAT(terminal.type({"--help"}).out,
              AllOf(HasSubstr("serve"), HasSubstr("Examples:"), Not(HasSubstr("manual"))));
  EXPECT_THAT(terminal.type({"task", "submit", "--help"}).out, HasSubstr("horae task submit demo --sleep 5s --wait"));
}

TEST(CommandLine, PrintConfigCombinesFlagsAndEnvironment) {
  TestTerminal terminal;
  terminal.environment["HORAE_SLOTS_AHEAD"] = "5";
  const auto printed = terminal.type({"serve", "--slots-count", "3", "--print-config"});
  EXPECT_EQ(printed.exit_code, kDone) << printed.err;
  EXPECT_THAT(printed.out, AllOf(HasSubstr("\ncount = 3\n"), HasSubstr("\nahead = 5\n")));
  EXPECT_THAT(terminal.type({"serve", "--slots-count", "x", "--print-config"}).err,
              HasSubstr("horae serve: --slots-count: slots.count = \"x\" is not a whole number"));
  EXPECT_THAT(terminal.type({"serve", "--slots-queues", "", "--print-config"}).out, HasSubstr("\nqueues = []\n"));
}

TEST(CommandLine, CompletesCommandsAndFlags) {
  TestTerminal terminal;
  const auto typed = [&terminal](std::vector<std::string> words) {
    words.insert(words.begin(), "__complete");
    return terminal.type(words).out;
  };
  EXPECT_EQ(typed({"s"}), "schedule\nscheduler\nserve\n");
  EXPECT_EQ(typed({"task", ""}), "cancel\nexplain\nget\nlist\nsubmit\nwatch\n");
  EXPECT_EQ(typed({"to"}), "token\n");
  EXPECT_EQ(typed({"token", ""}), "create\nlist\nrevoke\n");
  EXPECT_EQ(typed({"token", "create", "--o"}), "--offline\n");
  EXPECT_EQ(typed({"task", "list", "--st"}), "--state\n");
  EXPECT_EQ(typed({"task", "list", "--queue", "--st"}), "");  // the value of --queue
  EXPECT_EQ(typed({"task", "list", "--queue", "mail", "--st"}), "--state\n");
  EXPECT_EQ(typed({"queue", "--json", "p"}), "pause\n");
  EXPECT_THAT(typed({""}), AllOf(HasSubstr("doctor\n"), Not(HasSubstr("manual"))));
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(terminal.type({"completion", shell}).out, HasSubstr("horae __complete")) << shell;
  }
}

TEST(CommandLine, ManPageIsUpToDate) {
  TestTerminal terminal;
  std::ifstream file(HORAE_SOURCE_DIR "/docs/reference/horae.1");
  const std::string written(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(written, terminal.type({"manual", "page"}).out)
      << "run: horae manual page > docs/reference/horae.1, and commit the result";
}

TEST(CommandLine, HelpOfANounNamesItsVerbs) {
  TestTerminal terminal;
  EXPECT_THAT(terminal.type({"--help"}).out,
              HasSubstr("Inspect and configure queues: list, pause, resume, set, delete\n"));
  EXPECT_THAT(terminal.type({"token", "--help"}).out, HasSubstr("Manage access tokens: create, list, revoke\n"));
}

TEST(CommandLine, FailsIfItsOutputCannotBeWritten) {
  std::istringstream in;
  std::ostream out(nullptr);  // each write fails
  std::ostringstream err;
  const SystemClock clock;
  SeededRandom random{1};
  Context context{.console = {.in = in, .out = out, .err = err}, .clock = clock, .random = random, .environment = {}};
  EXPECT_EQ(run({"--version"}, context), kFailed);
  EXPECT_THAT(err.str(), HasSubstr("the output could not be written"));
  EXPECT_EQ(run({"task", "lst"}, context), kMisused);
}

}  // namespace
}  // namespace horae::cli
