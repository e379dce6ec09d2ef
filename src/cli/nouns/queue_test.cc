// horae queue delete.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"
#include "cli/terminal/test_terminal.h"
#include "http/test_server.h"

namespace horae::cli {
namespace {

using ::testing::HasSubstr;

class QueueCommands : public ::testing::Test {
 protected:
  QueueCommands() { terminal_.environment["HORAE_NODE"] = "http://127.0.0.1:" + std::to_string(server_.port()); }

  testing::ApiWorld world_;
  testing::TestServer server_{
      [this](HttpRequest request, const Responder& responder) { world_.api().handle(std::move(request), responder); }};
  TestTerminal terminal_;
};

TEST_F(QueueCommands, DeleteAnEmptyQueue) {
  ASSERT_EQ(terminal_.type({"queue", "set", "mail", "--ageing-rate", "2"}).exit_code, kDone);
  const auto deleted = terminal_.type({"queue", "delete", "mail"});
  EXPECT_EQ(deleted.exit_code, kDone) << deleted.err;
  EXPECT_EQ(deleted.out, "queue mail is deleted; tasks cancelled: 0; tasks removed, with those that had finished: 0\n");
  EXPECT_THAT(terminal_.type({"queue", "list"}).out, HasSubstr("no queues"));
  const auto again = terminal_.type({"queue", "delete", "mail"});
  EXPECT_EQ(again.exit_code, kFailed);
  EXPECT_THAT(again.err, HasSubstr("queue mail: there is none"));
}

TEST_F(QueueCommands, DeleteAQueueWithTasksOnlyIfTheyMayBeCancelled) {
  (void)world_.submit();
  const auto refused = terminal_.type({"queue", "delete", "mail"});
  EXPECT_EQ(refused.exit_code, kFailed);
  EXPECT_THAT(refused.err, HasSubstr("--cancel-tasks"));
  const auto deleted = terminal_.type({"queue", "delete", "mail", "--cancel-tasks"});
  EXPECT_EQ(deleted.out, "queue mail is deleted; tasks cancelled: 1; tasks removed, with those that had finished: 1\n");
}

}  // namespace
}  // namespace horae::cli
