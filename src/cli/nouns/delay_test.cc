// horae delay.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "api/test_world.h"
#include "cli/terminal/test_terminal.h"
#include "http/test_server.h"
#include "tests/support/temporary_folder.h"

namespace horae::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DelayCommands : public ::testing::Test {
 protected:
  DelayCommands() { terminal_.environment["HORAE_NODE"] = "http://127.0.0.1:" + std::to_string(server_.port()); }

  Message stored(const std::string& id) {
    return world_.store().messages().get("orders", std::vector{id}).value().at(0)->message;
  }

  testing::ApiWorld world_;
  testing::TestServer server_{
      [this](HttpRequest request, const Responder& responder) { world_.api().handle(std::move(request), responder); }};
  TestTerminal terminal_;
};

TEST_F(DelayCommands, PutStoresTheBytesThatItIsGiven) {
  const auto put = terminal_.type({"delay", "put", "orders", "--in", "90s", "--id", "m", "--key", "k", "--header",
                                   "trace=1", "--header", "trace=2", "value"});
  EXPECT_EQ(put.exit_code, kDone) << put.err;
  EXPECT_EQ(put.out, "m is stored\n");
  EXPECT_EQ(stored("m").key, "k");
  EXPECT_EQ(stored("m").value, "value");
  EXPECT_THAT(stored("m").headers, ::testing::ElementsAre(MessageHeader{"trace", "1"}, MessageHeader{"trace", "2"}));
  EXPECT_THAT(terminal_.type({"delay", "put", "orders", "--in", "1s", "--id", "m"}).out, HasSubstr("was there before"));

  testing::TemporaryFolder folder;
  std::ofstream(folder.path() + "/body", std::ios::binary) << std::string("\0\xff", 2);
  ASSERT_EQ(
      terminal_.type({"delay", "put", "orders", "--in", "1s", "--id", "raw", "@" + folder.path() + "/body"}).exit_code,
      kDone);
  EXPECT_EQ(stored("raw").value, std::string("\0\xff", 2));
}

TEST_F(DelayCommands, PutNeedsOneTime) {
  EXPECT_EQ(terminal_.type({"delay", "put", "orders"}).exit_code, kMisused);
  EXPECT_EQ(terminal_.type({"delay", "put", "orders", "--in", "1s", "--at", "2999-01-01T00:00:00Z"}).exit_code,
            kMisused);
  const auto bad = terminal_.type({"delay", "put", "orders", "--in", "soon"});
  EXPECT_EQ(bad.exit_code, kMisused);
  EXPECT_THAT(bad.err, HasSubstr("--in"));
}

TEST_F(DelayCommands, MessagesAreShownMovedAndCancelled) {
  for (const char* id : {"a", "b"}) {
    ASSERT_EQ(terminal_.type({"delay", "put", "orders", "--at", "2999-01-01T00:00:00Z", "--id", id, "v"}).exit_code,
              kDone);
  }
  EXPECT_THAT(terminal_.type({"delay", "get", "orders", "a"}).out,
              AllOf(HasSubstr("waiting"), HasSubstr("2999-01-01"), HasSubstr("\"v\"")));
  const auto page = terminal_.type({"delay", "list", "orders", "--limit", "1"});
  EXPECT_THAT(page.out, AllOf(HasSubstr("a "), HasSubstr("more with --cursor")));
  EXPECT_EQ(terminal_.type({"delay", "move", "orders", "a", "--at", "2999-02-01T00:00:00Z"}).out,
            "a is due at 2999-02-01T00:00:00Z\n");
  EXPECT_EQ(terminal_.type({"delay", "cancel", "orders", "a"}).out, "cancelled\n");
  const auto gone = terminal_.type({"delay", "cancel", "orders", "a"});
  EXPECT_EQ(gone.exit_code, kFailed);
  EXPECT_THAT(gone.err, HasSubstr("there is none"));
  EXPECT_THAT(terminal_.type({"delay", "list", "orders", "--json"}).out, HasSubstr(R"("messages":[{"id":"b")"));
  EXPECT_THAT(terminal_.type({"delay", "list", "orders", "--state", "ready"}).out, HasSubstr("no such messages"));
}

TEST_F(DelayCommands, StatusShowsWhatIsWrong) {
  EXPECT_THAT(terminal_.type({"delay", "status"}).out,
              AllOf(HasSubstr("orders"), HasSubstr("payments"), HasSubstr("output: topic orders.out does not exist")));
  EXPECT_EQ(terminal_.type({"delay", "status", "orders"}).exit_code, kDone);
  const auto unknown = terminal_.type({"delay", "status", "nowhere"});
  EXPECT_EQ(unknown.exit_code, kFailed);
  EXPECT_THAT(unknown.err, HasSubstr("[delay.NAME]"));
}

}  // namespace
}  // namespace horae::cli
