// Client commands against a server with scripted responses, and their exit codes.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <mutex>

#include "cli/nouns/task_watch.h"
#include "cli/terminal/test_terminal.h"
#include "http/test_server.h"

namespace horae::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kId = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() { terminal_.environment["HORAE_NODE"] = "127.0.0.1:" + std::to_string(server_.port()); }

  // The responses to the next requests; the last one repeats.
  void respond(std::deque<HttpResponse> responses) { responses_ = std::move(responses); }

  static std::string task(const std::string& state, const std::string& more = {}) {
    return std::string(R"({"id":")") + kId + R"(","queue":"mail","state":")" + state +
           R"(","spec":{"n":1.0},"progress":0.25,"attempt":1,"owner":"worker-7","priority":50)" + more + "}";
  }

  std::vector<std::string> requests() {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

  TestTerminal terminal_;

 private:
  void handle(const HttpRequest& request, const Responder& responder) {
    HttpResponse response;
    {
      const std::scoped_lock lock(mutex_);
      const std::string query = request.query.empty() ? "" : "?" + request.query;
      requests_.push_back(request.method + " " + request.path + query +
                          (request.body.empty() ? "" : " " + request.body));
      response = responses_.front();
      if (responses_.size() > 1) responses_.pop_front();
    }
    responder.answer(std::move(response));
  }

  std::mutex mutex_;
  std::vector<std::string> requests_;   // guarded by mutex_
  std::deque<HttpResponse> responses_;  // guarded by mutex_ once commands run
  testing::TestServer server_{
      [this](const HttpRequest& request, const Responder& responder) { handle(request, responder); }};
};

HttpResponse problem(int status, const std::string& detail) {
  return {.status = status,
          .content_type = "application/problem+json",
          .body = R"({"type":"urn:horae:problem:x","status":)" + std::to_string(status) + R"(,"detail":")" + detail +
                  "\"}"};
}

TEST_F(ClientTest, JsonPrintsTheExactResponse) {
  const std::string reply = R"({ "queues":[ ],  "new field":1.0 })";
  respond({{.body = reply}});
  const auto printed = terminal_.type({"queue", "list", "--json"});
  EXPECT_EQ(printed.out, reply + "\n");
  EXPECT_EQ(printed.exit_code, kDone);
}

TEST_F(ClientTest, PrintsTheDetailOfARefusalAndWithJsonTheWholeProblem) {
  const HttpResponse refusal = problem(404, "task x: there is no such task");
  respond({refusal});
  const auto plain = terminal_.type({"task", "get", kId});
  EXPECT_EQ(plain.err, "horae task get: task x: there is no such task\n");
  EXPECT_EQ(plain.out, "");
  EXPECT_EQ(plain.exit_code, kFailed);
  EXPECT_EQ(terminal_.type({"task", "get", kId, "--json"}).out, refusal.body + "\n");
}

TEST_F(ClientTest, AnUnavailableStoreAndALimitExitWithTryAgain) {
  respond({problem(503, "the store is away")});
  EXPECT_EQ(terminal_.type({"queue", "list"}).exit_code, kTryAgain);
  respond({problem(429, "too many")});
  EXPECT_EQ(terminal_.type({"queue", "list"}).exit_code, kTryAgain);
}

TEST_F(ClientTest, InvalidInputIsMisuseAndOtherRefusalsAreFailures) {
  for (const int status : {400, 413, 422}) {
    respond({problem(status, "limit 0: give 1 to 1000")});
    EXPECT_EQ(terminal_.type({"queue", "list"}).exit_code, kMisused) << status;
  }
  for (const int status : {401, 403, 404, 409, 500}) {
    respond({problem(status, "no")});
    EXPECT_EQ(terminal_.type({"queue", "list"}).exit_code, kFailed) << status;
  }
  respond({{.status = 400, .content_type = "text/html", .body = "<h1>nginx</h1>"}});
  EXPECT_EQ(terminal_.type({"queue", "list"}).exit_code, kFailed) << "not the response of a node";
}

TEST_F(ClientTest, ARefusalNamesFlagsExceptInQuotes) {
  respond({problem(422, R"(created_from \"created_before\": and created_before; limit)")});
  EXPECT_THAT(terminal_.type({"task", "list"}).err, HasSubstr(R"(--from "created_before": and --before; limit)"));
  respond({problem(404, "limit 0: is not found")});
  EXPECT_THAT(terminal_.type({"task", "list"}).err, HasSubstr("list: limit 0"));
}

TEST_F(ClientTest, RecognizesAServerThatIsNotHorae) {
  respond({{.status = 404, .content_type = "text/html", .body = "<h1>nginx</h1>"}});
  EXPECT_THAT(terminal_.type({"queue", "list"}).err, HasSubstr("is this a Horae node?"));
  respond({{.body = "<h1>hello</h1>"}});
  EXPECT_THAT(terminal_.type({"queue", "list"}).err, HasSubstr("are both of the same version?"));
}

TEST_F(ClientTest, AnUnreachableNodeIsReportedWithWhatToCheck) {
  const auto printed = terminal_.type({"queue", "list", "--node", "http://127.0.0.1:1"});
  EXPECT_THAT(printed.err, AllOf(HasSubstr("is it running"), HasSubstr("--node URL or HORAE_NODE")));
  EXPECT_EQ(printed.exit_code, kTryAgain);
}

TEST_F(ClientTest, ListSendsItsFlags) {
  respond({{.body = R"({"tasks":[],"next":null,"as_of":"2030-01-01T00:00:00Z"})"}});
  const auto printed =
      terminal_.type({"task", "list", "--state", "completed,aborted", "--queue", "a b", "--limit", "3"});
  EXPECT_THAT(requests(), ElementsAre("GET /v1/tasks?state=completed%2Caborted&queue=a%20b&limit=3"));
  EXPECT_EQ(printed.out, "There are no such tasks.\n");
}

TEST_F(ClientTest, ListPrintsTheCursorOfTheNextPage) {
  const std::string one = task("running", R"(,"updated_at":"2030-01-01T00:00:00Z")");
  respond({{.body = R"({"tasks":[)" + one + R"(],"next":"CURSOR","as_of":"2030-01-01T00:10:00Z"})"}});
  const auto printed = terminal_.type({"task", "list"});
  EXPECT_THAT(printed.out,
              AllOf(HasSubstr(kId), HasSubstr("running"), HasSubstr("25 %"), HasSubstr("10m"), HasSubstr("worker-7"),
                    HasSubstr("There are more tasks; for the next page: --cursor CURSOR\n")));
}

TEST_F(ClientTest, EscapesAKeyInThePath) {
  respond({{.body = task("ready")}});
  EXPECT_EQ(terminal_.type({"task", "get", "--queue", "mail", "--key", "a/b"}).exit_code, kDone);
  EXPECT_THAT(requests(), ElementsAre("GET /v1/queues/mail/keys/a%2Fb"));
}

TEST_F(ClientTest, AFailedSubmitNamesTheIdForItsRepetition) {
  respond({problem(503, "the store is away")});
  const auto printed = terminal_.type({"task", "submit", "mail", "1", "--id", kId});
  EXPECT_THAT(printed.err, HasSubstr(std::string("repeat the command with --id ") + kId + ": it makes no second task"));
  EXPECT_EQ(printed.exit_code, kTryAgain);
}

TEST_F(ClientTest, AFailedSubmitWithInNamesTheTimeForItsRepetition) {
  respond({problem(503, "the store is away"), {.status = 201, .body = "{}"}});
  const std::vector<std::string> line = {"task", "submit", "mail", "1", "--key", "k"};
  auto with_in = line;
  with_in.insert(with_in.end(), {"--in", "1h"});
  const auto printed = terminal_.type(with_in);
  EXPECT_EQ(printed.exit_code, kTryAgain);
  EXPECT_THAT(printed.err, HasSubstr(" instead of --in: it makes no second task"));
  const std::size_t begin = printed.err.find("--at ") + 5;
  auto repeated = line;
  repeated.insert(repeated.end(), {"--at", printed.err.substr(begin, printed.err.find(' ', begin) - begin)});
  (void)terminal_.type(repeated);
  ASSERT_THAT(requests(), SizeIs(2));
  EXPECT_EQ(requests()[0], requests()[1]) << "the hint must lead to the same request";
}

TEST_F(ClientTest, AConflictOfASubmitWithInIsExplained) {
  respond({problem(409, "key k: is another task")});
  const auto printed = terminal_.type({"task", "submit", "mail", "1", "--key", "k", "--in", "1h"});
  EXPECT_THAT(printed.err, HasSubstr("name the time with --at"));
  EXPECT_EQ(printed.exit_code, kFailed);
  EXPECT_THAT(terminal_.type({"task", "submit", "mail", "1", "--key", "k"}).err, Not(HasSubstr("--at")));
}

TEST_F(ClientTest, ListsNodes) {
  respond({{.body = R"({"nodes":[{"id":"worker-1","address":"http://a:1","version":"0.1.0","started_at":"S",)"
                    R"("last_seen":"L"},{"id":"worker-2","address":"http://b:1","version":"0.2.0"}]})"}});
  const auto printed = terminal_.type({"node", "list"});
  EXPECT_EQ(printed.exit_code, kDone) << printed.err;
  EXPECT_THAT(requests(), ElementsAre("GET /v1/nodes"));
  for (const char* text : {"NODE", "STATE", "worker-1", "http://a:1", "0.1.0", "S", "worker-2", "0.2.0"}) {
    EXPECT_THAT(printed.out, HasSubstr(text));
  }
}

TEST_F(ClientTest, DoctorNotesANodeOfAnotherVersion) {
  respond({{.body = R"({"status":"ok","version":"99.0.0"})"}});
  const auto printed = terminal_.type({"doctor", "--store", "sqlite::memory:"});
  EXPECT_EQ(printed.exit_code, kDone) << printed.out;
  EXPECT_THAT(printed.out, HasSubstr("has version 99.0.0, this program "));
}

// ---- Waiting ----

TEST_F(ClientTest, WaitEndsWithTheTask) {
  const std::string end = task("completed", R"(,"result":{"n":1.0})");
  respond({{.status = 201, .body = std::string(R"({"id":")") + kId + R"(","state":"ready","outcome":"created"})"},
           {.body = task("running")},
           {.body = end}});
  const auto printed = terminal_.type({"task", "submit", "mail", "1", "--wait"});
  EXPECT_EQ(printed.exit_code, kDone);
  EXPECT_THAT(printed.out, AllOf(HasSubstr("completed"), HasSubstr("{\"n\":1.0}\n")));
  EXPECT_THAT(printed.err, HasSubstr("running on worker-7, attempt 1, 25 %\n"));
}

TEST_F(ClientTest, WaitWithJsonPrintsOnlyTheEndedTask) {
  const std::string end = task("completed");
  respond({{.status = 201, .body = std::string(R"({"id":")") + kId + R"(","state":"ready","outcome":"created"})"},
           {.body = end}});
  EXPECT_EQ(terminal_.type({"task", "submit", "mail", "1", "--wait", "--json"}).out, end + "\n");
}

TEST_F(ClientTest, WatchExitsWithThreeUnlessTheTaskCompleted) {
  respond({{.body = task("aborted", R"(,"errors":[{"code":"no_disk","description":"full"}])")}});
  const auto printed = terminal_.type({"task", "watch", kId});
  EXPECT_EQ(printed.exit_code, kNotCompleted);
  EXPECT_THAT(printed.out, HasSubstr("aborted: no_disk: full"));
  respond({{.body = task("cancelled", R"(,"cancel_reason":"enough")")}});
  EXPECT_EQ(terminal_.type({"task", "watch", kId}).exit_code, kNotCompleted);
}

TEST_F(ClientTest, WatchHasALimit) {
  respond({{.body = task("running")}});
  const auto printed = terminal_.type({"task", "watch", kId, "--wait-limit", "1ms"});
  EXPECT_EQ(printed.exit_code, kStillWaiting);
  EXPECT_THAT(printed.err, HasSubstr("has not ended within 1ms"));
  EXPECT_EQ(terminal_.type({"task", "watch", kId, "--wait-limit", "1ms", "--json"}).out, task("running") + "\n");
}

// ---- Failures for programs ----

TEST_F(ClientTest, WithJsonEachFailureIsAProblemDocument) {
  respond({problem(404, "there is no such task")});
  EXPECT_THAT(terminal_.type({"task", "get", kId, "--json"}).out, HasSubstr("there is no such task"));
  const auto unreachable = terminal_.type({"queue", "list", "--json", "--node", "127.0.0.1:1", "--timeout", "1s"});
  EXPECT_EQ(unreachable.exit_code, kTryAgain);
  EXPECT_THAT(unreachable.out, AllOf(HasSubstr("urn:horae:problem:unavailable"), HasSubstr("127.0.0.1:1")));
  const auto misused = terminal_.type({"task", "watch", kId, "--wait-limit", "x", "--json"});
  EXPECT_EQ(misused.exit_code, kMisused);
  EXPECT_THAT(misused.out, AllOf(HasSubstr("urn:horae:problem:malformed"), HasSubstr("--wait-limit")));
}

TEST_F(ClientTest, RefusesFlagsThatWouldHaveNoEffect) {
  const auto timeout = terminal_.type({"queue", "list", "--timeout", "0s"});
  EXPECT_EQ(timeout.exit_code, kMisused);
  EXPECT_THAT(timeout.err, HasSubstr("--timeout 0s: give a time above 0s"));
  const auto ca = terminal_.type({"queue", "list", "--ca", "ca.pem"});
  EXPECT_EQ(ca.exit_code, kMisused);
  EXPECT_THAT(ca.err, HasSubstr("is called without TLS; write https:// in --node"));
}

TEST_F(ClientTest, NodeListSaysWhichNodesAreSilent) {
  const auto node = [](const char* id, const char* seen) {
    return fmt::format(
        R"({{"id":"{}","address":"","version":"1","started_at":"2026-11-19T03:00:00Z","last_seen":"{}"}})", id, seen);
  };
  respond({{.body = R"({"nodes":[)" + node("worker-1", "2026-11-19T03:59:22Z") + "," +
                    node("worker-2", "2026-11-19T04:00:00Z") + "]}"}});
  const std::string out = terminal_.type({"node", "list"}).out;
  EXPECT_THAT(out, ::testing::ContainsRegex("worker-1.*silent for 38 s"));
  EXPECT_THAT(out, ::testing::ContainsRegex("worker-2.*alive"));
}

TEST_F(ClientTest, WatchRetriesWhileTheNodeIsUnavailable) {
  respond({problem(503, "the store is away"), {.body = task("completed")}});
  EXPECT_EQ(terminal_.type({"task", "watch", kId}).exit_code, kDone);
  respond({problem(404, "there is no such task")});
  EXPECT_EQ(terminal_.type({"task", "watch", kId}).exit_code, kFailed);
}

TEST_F(ClientTest, WatchDrawsABarOnATerminalOnly) {
  terminal_.err_is_terminal = true;
  respond({{.body = task("running")}, {.body = task("completed")}});
  const auto printed = terminal_.type({"task", "watch", kId});
  EXPECT_THAT(printed.err, HasSubstr("\r\x1b[K[#######-----------------------]  25 %  running on worker-7"));
  EXPECT_THAT(printed.out, Not(HasSubstr("\x1b")));
}

TEST(ProgressBar, StaysWithinItsBounds) {
  EXPECT_THAT(progress_bar({.state = "ready", .progress = 0}, 4), HasSubstr("[----]"));
  EXPECT_THAT(progress_bar({.state = "ready", .progress = 1}, 4), HasSubstr("[####]"));
  EXPECT_THAT(progress_bar({.state = "ready", .progress = -3}, 4), HasSubstr("[----]"));
  EXPECT_THAT(progress_bar({.state = "ready", .progress = 17}, 4), HasSubstr("[####]"));
}

}  // namespace
}  // namespace horae::cli
