// horae delay import, from a real table of Chronos.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"
#include "cli/terminal/test_terminal.h"
#include "http/test_server.h"
#include "tests/support/postgres_server.h"

namespace horae::cli {
namespace {

using ::testing::HasSubstr;

class DelayImport : public ::testing::Test {
 protected:
  DelayImport() { terminal_.environment["HORAE_NODE"] = "http://127.0.0.1:" + std::to_string(server_.port()); }

  testing::ApiWorld world_;
  testing::TestServer server_{
      [this](HttpRequest request, const Responder& responder) { world_.api().handle(std::move(request), responder); }};
  TestTerminal terminal_;
  testing::PostgresServer chronos_{{.durable = false, .settings = {}}};
};

TEST_F(DelayImport, PutsEverythingOnce) {
  chronos_.run_sql(
      "create table hanger (id varchar primary key, deadline timestamptz not null, readied_at timestamptz, readied_by "
      "uuid,"
      " message_headers jsonb, message_key varchar, message_value jsonb);"
      "insert into hanger select 'm-' || n, now() + interval '1 day', case when n % 2 = 0 then now() end, null,"
      " '{\"h\": \"1\"}', 'k', '{\"n\": 1}' from generate_series(1, 1200) as n");
  const auto first = terminal_.type({"delay", "import", "orders", "--from", chronos_.url()});
  EXPECT_EQ(first.exit_code, kDone) << first.err;
  EXPECT_EQ(first.out, "1200 messages read: 1200 are stored, 0 were there before, 0 are being fired\n");
  EXPECT_EQ(terminal_.type({"delay", "import", "orders", "--from", chronos_.url(), "--json"}).out,
            "{\"read\":1200,\"created\":0,\"present\":1200,\"firing\":0}\n");
  const auto stored = world_.store().messages().get("orders", std::vector<std::string>{"m-2"}).value().at(0);
  EXPECT_EQ(stored->message.value, R"({"n": 1})");
  EXPECT_EQ(stored->message.headers, (std::vector<MessageHeader>{{"h", "1"}}));
}

TEST_F(DelayImport, SaysWhatIsMissing) {
  const auto missing = terminal_.type({"delay", "import", "orders", "--from", chronos_.url()});
  EXPECT_EQ(missing.exit_code, kFailed);
  EXPECT_THAT(missing.err, HasSubstr("no table hanger or schedules"));
}

}  // namespace
}  // namespace horae::cli
