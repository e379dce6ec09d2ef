// horae token, and the secret that commands send to a node.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>

#include "api/access/token_book.h"
#include "api/test_world.h"
#include "cli/terminal/test_terminal.h"
#include "http/test_server.h"
#include "stores/sqlite/sqlite_store.h"
#include "tests/support/temporary_folder.h"

namespace horae::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kCreate = {"token", "create",   "--name", "build", "--role",
                                          "work",  "--queues", "mail.*", "x",     "--json"};

class TokenCommands : public ::testing::Test {
 protected:
  TokenCommands() { terminal_.environment["HORAE_NODE"] = "http://127.0.0.1:" + std::to_string(server_.port()); }

  // The Authorization header of the last request.
  std::string authorization() {
    const std::scoped_lock lock(mutex_);
    return authorization_;
  }

  testing::ApiWorld world_;
  std::mutex mutex_;
  std::string authorization_ = {};  // guarded by mutex_
  testing::TestServer server_{[this](HttpRequest request, const Responder& responder) {
    {
      const std::scoped_lock lock(mutex_);
      authorization_ = request.header("Authorization");
    }
    world_.api().handle(std::move(request), responder);
  }};
  TestTerminal terminal_;
};

TEST_F(TokenCommands, CreatesListsAndRevokesAToken) {
  EXPECT_EQ(terminal_.type({"token", "list"}).out, "There are no tokens yet.\n");
  const auto created =
      terminal_.type({"token", "create", "--name", "build", "--role", "submit", "--queues", "mail.*", "x"});
  ASSERT_EQ(created.exit_code, kDone) << created.err;
  EXPECT_THAT(created.out,
              AllOf(HasSubstr("build"), HasSubstr("submit"), HasSubstr("mail.* x"), HasSubstr("horae_t-")));
  EXPECT_THAT(created.err, HasSubstr("not shown again"));
  const std::string id = created.out.substr(created.out.find("t-"), 14);

  const auto listed = terminal_.type({"token", "list"});
  EXPECT_THAT(listed.out, AllOf(HasSubstr(id), HasSubstr("build"), HasSubstr("mail.* x"), Not(HasSubstr("horae_"))));

  const auto revoked = terminal_.type({"token", "revoke", id});
  EXPECT_EQ(revoked.exit_code, kDone) << revoked.err;
  EXPECT_EQ(revoked.out, "The token is revoked.\n");
  const auto again = terminal_.type({"token", "revoke", id});
  EXPECT_EQ(again.exit_code, kFailed);
  EXPECT_THAT(again.err, HasSubstr(id));
}

TEST_F(TokenCommands, DoctorChecksTheToken) {
  const testing::TemporaryFolder folder;
  const auto good = terminal_.type({"doctor", "--data", folder.path()});
  EXPECT_EQ(good.exit_code, kDone) << good.out;
  EXPECT_THAT(good.out, HasSubstr("the node accepts calls of this user"));
  const auto bad = terminal_.type({"doctor", "--data", folder.path(), "--token", "horae_t-wrong"});
  EXPECT_EQ(bad.exit_code, kFailed) << bad.out;
  EXPECT_THAT(bad.out, AllOf(HasSubstr("access"), HasSubstr("token")));
}

TEST_F(TokenCommands, PrintsTheJsonOfTheNode) {
  const auto created = terminal_.type(kCreate);
  ASSERT_EQ(created.exit_code, kDone) << created.err;
  EXPECT_EQ(testing::member(created.out, "queues"), R"(["mail.*","x"])");
  const auto revoked = terminal_.type({"token", "revoke", testing::text_of(created.out, "id"), "--json"});
  EXPECT_EQ(revoked.exit_code, kDone);
  EXPECT_EQ(revoked.out, "");
}

TEST_F(TokenCommands, ATokenHasAllQueuesByDefault) {
  const auto created = terminal_.type({"token", "create", "--name", "a", "--role", "read", "--json"});
  EXPECT_EQ(testing::member(created.out, "queues"), R"(["*"])");
}

TEST_F(TokenCommands, SeveralPatternsAreSeparatedByCommasOrSpaces) {
  const auto created =
      terminal_.type({"token", "create", "--name", "a", "--role", "read", "--queues", "a,b.*", "c", "--json"});
  EXPECT_EQ(testing::member(created.out, "queues"), R"(["a","b.*","c"])") << created.err;
}

TEST_F(TokenCommands, PrintsARefusalOfTheNode) {
  const auto printed = terminal_.type({"token", "create", "--name", "a", "--role", "root", "--queues", "*"});
  EXPECT_EQ(printed.exit_code, kMisused);
  EXPECT_THAT(printed.err, AllOf(HasSubstr("--role "), HasSubstr("give read, submit, work or admin")));
  EXPECT_THAT(terminal_.type({"token", "create", "--name", "a", "--role", "read", "--queues", "a b"}).err,
              HasSubstr("horae token create: --queues \"a b\": "));
  EXPECT_EQ(terminal_.type({"token", "create", "--name", "a"}).exit_code, kMisused);
  EXPECT_EQ(terminal_.type({"token"}).exit_code, kMisused);
}

// ---- Without a node ----

TEST(OfflineTokens, AreNeitherListedNorRevokedInAFolderWithoutADatabase) {
  const testing::TemporaryFolder folder;
  const std::string data = folder.path() + "/wrong";
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"token", "list"}, {"token", "revoke", "t-1"}}) {
    TestTerminal terminal;
    std::vector<std::string> line = verb;
    line.insert(line.end(), {"--offline", "--data", data});
    const auto printed = terminal.type(line);
    EXPECT_EQ(printed.exit_code, kFailed);
    EXPECT_THAT(printed.err, HasSubstr("there is no database " + data + "/horae.db: check data (--data)"));
    EXPECT_FALSE(std::filesystem::exists(data));
  }
}

TEST(OfflineTokens, UseTheConfiguredStore) {
  const testing::TemporaryFolder folder;
  TestTerminal terminal;
  terminal.environment["HORAE_NODE"] = "http://127.0.0.1:1";
  terminal.environment["HORAE_STORE"] = "sqlite:" + folder.path() + "/horae.db";
  const auto offline = [&](std::vector<std::string> line) {
    line.emplace_back("--offline");
    return terminal.type(line);
  };
  const auto created = offline(kCreate);
  ASSERT_EQ(created.exit_code, kDone) << created.err;
  const std::string id = testing::text_of(created.out, "id");
  EXPECT_THAT(offline({"token", "list"}).out, AllOf(HasSubstr(id), HasSubstr("build")));
  {
    const SystemClock clock;
    const auto store = open_sqlite_store(terminal.environment["HORAE_STORE"], clock).value();
    TokenBook book;
    ASSERT_TRUE(book.refresh(store->tokens()).ok());
    EXPECT_EQ(book.find(testing::text_of(created.out, "secret"))->role, Role::kWork);
    // The store is locked now.
    EXPECT_NE(offline({"token", "list"}).exit_code, kDone);
  }
  EXPECT_EQ(offline({"token", "revoke", id}).out, "The token is revoked.\n");
  EXPECT_EQ(offline({"token", "revoke", id}).exit_code, kFailed);
  EXPECT_EQ(offline({"token", "list"}).out, "There are no tokens yet.\n");
}

TEST(OfflineTokens, RefuseInvalidFlagsLikeANode) {
  const testing::TemporaryFolder folder;
  TestTerminal terminal;
  const auto printed = terminal.type({"token", "create", "--name", "a", "--role", "root", "--queues", "*", "--offline",
                                      "--store", "sqlite:" + folder.path() + "/horae.db"});
  EXPECT_EQ(printed.exit_code, kMisused);
  EXPECT_THAT(printed.err, AllOf(HasSubstr("--role "), HasSubstr("give read, submit, work or admin")));
}

// ---- The caller's secret ----

TEST_F(TokenCommands, SendNoSecretByDefault) {
  (void)terminal_.type({"queue", "list"});
  EXPECT_EQ(authorization(), "");
}

TEST_F(TokenCommands, TakeTheSecretFromTheFlagElseFromTheEnvironment) {
  terminal_.environment["HORAE_TOKEN"] = "from-environment";
  EXPECT_THAT(terminal_.type({"queue", "list"}).err, HasSubstr("not known"));
  EXPECT_EQ(authorization(), "Bearer from-environment");
  EXPECT_THAT(terminal_.type({"queue", "list", "--token", "from-flag"}).err, HasSubstr("not known"));
  EXPECT_EQ(authorization(), "Bearer from-flag");
}

TEST_F(TokenCommands, NeitherSendNorPrintASecretOfSeveralLines) {
  terminal_.environment["HORAE_TOKEN"] = "hunter2\nX: 1";
  const auto printed = terminal_.type({"queue", "list"});
  EXPECT_EQ(printed.exit_code, kFailed);
  EXPECT_THAT(printed.err, Not(HasSubstr("hunter2")));
  EXPECT_EQ(authorization(), "");
}

TEST_F(TokenCommands, NameAnInvalidFileOfCertificates) {
  terminal_.environment["HORAE_CA"] = "/nonexistent/ca.pem";
  const std::string node = "https://127.0.0.1:" + std::to_string(server_.port());
  EXPECT_THAT(terminal_.type({"queue", "list", "--node", node}).err, HasSubstr("/nonexistent/ca.pem"));
  EXPECT_THAT(terminal_.type({"queue", "list", "--node", node, "--ca", "/nonexistent/other.pem"}).err,
              HasSubstr("/nonexistent/other.pem"));
}

}  // namespace
}  // namespace horae::cli
