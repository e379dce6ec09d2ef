// A delay queue that needs no Kafka: messages come by REST and leave by a webhook, on the embedded store.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <future>
#include <iostream>

#include "base/clock.h"
#include "http/server.h"
#include "tests/e2e/running_node.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using std::literals::operator""s;

TEST(DelayWithoutKafka, TakesMessagesByRestAndSendsThemToAWebhook) {
  const SystemClock clock;
  const Logger log(std::cerr, clock, {.level = LogLevel::kOff});
  std::promise<HttpRequest> received;
  HttpServer hook({.listen = {"127.0.0.1:0"}}, clock, log, [&](HttpRequest request, const Responder& responder) {
    responder.answer({.status = 204, .body = ""});
    received.set_value(std::move(request));
  });
  ASSERT_TRUE(hook.start().ok());
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/horae.toml";
  std::ofstream(path) << fmt::format("[delay.reminders]\nwebhook = \"{}/hook\"\nwebhook_networks = [\"127.0.0.1\"]\n",
                                     hook.urls().front());
  RunningNode node({"--config", path, "--data", folder.path(), "--http-listen", "127.0.0.1:0"});
  const NetResponse put = node.post("/v1/delay/reminders/messages",
                                    R"({"id":"a","delay":"100ms","key":"k","value":"hello","headers":[{"n":"v"}]})");
  EXPECT_EQ(put.status, 201) << put.body;
  auto arrives = received.get_future();
  ASSERT_EQ(arrives.wait_for(60s), std::future_status::ready);
  const HttpRequest request = arrives.get();
  EXPECT_EQ(request.path, "/hook");
  EXPECT_EQ(request.body, "hello");
  EXPECT_EQ(request.header("horae-message-id"), "a");
  EXPECT_EQ(request.header("horae-message-key"), "k");
  EXPECT_EQ(request.header("horae-header"), "n=v");
  node.stop();
  hook.stop({});
}

}  // namespace
}  // namespace horae::testing
