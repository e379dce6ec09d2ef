#include "app/access.h"

#include <gtest/gtest.h>

#include <sstream>

#include "api/access/new_token.h"
#include "base/random.h"
#include "stores/sqlite/sqlite_store.h"

namespace horae {
namespace {

using namespace std::chrono_literals;

// The status with which the gate refuses a caller with this secret; 0 if it does not.
int status_of(const Gate& gate, const std::string& secret) {
  const HttpRequest request{.method = "GET",
                            .path = {},
                            .query = {},
                            .headers = {{"Authorization", "Bearer " + secret}},
                            .body = {},
                            .peer = {}};
  const auto decision = gate.decide(request, Access::kRead);
  return decision.refusal ? decision.refusal->kind.status : 0;
}

TEST(NodeAccess, LimitsTheRateOfEachToken) {
  ManualClock clock;
  const auto store = open_sqlite_store(std::string(kSqliteMemory), clock).value();
  SeededRandom random(1);
  const auto one = create_token(store->tokens(), random,
                                {.name = "one", .role = Role::kRead, .scope = QueueScope::of({"*"}).value()})
                       .value();
  const auto two = create_token(store->tokens(), random,
                                {.name = "two", .role = Role::kRead, .scope = QueueScope::of({"*"}).value()})
                       .value();
  std::ostringstream said;
  NodeAccess access(store->tokens(), clock, {.per_second = 1, .burst = 2}, Logger(said, clock));
  ASSERT_TRUE(access.start({.listen = {"127.0.0.1:0"}}, false).ok());
  const Gate gate(access.gate());

  EXPECT_EQ(status_of(gate, one.secret), 0);
  EXPECT_EQ(status_of(gate, one.secret), 0);
  EXPECT_EQ(status_of(gate, one.secret), 429);
  EXPECT_EQ(status_of(gate, two.secret), 0) << "other tokens are not limited";
  clock.advance(1s);
  EXPECT_EQ(status_of(gate, one.secret), 0);
  EXPECT_EQ(status_of(gate, one.secret), 429);
  EXPECT_EQ(status_of(gate, "horae_t-000000000000_unknown"), 401);
}

// The tokens of one database, and later of another.
class TokensOfTwo final : public TokenStore {
 public:
  explicit TokensOfTwo(TokenStore& first) : now_(&first) {}
  void move_to(TokenStore& other) { now_ = &other; }

  Result<Token> create(const Token& token) override { return now_->create(token); }
  Result<bool> revoke(std::string_view id) override { return now_->revoke(id); }
  Result<TokenList> tokens() override { return now_->tokens(); }

 private:
  TokenStore* now_;
};

TEST(NodeAccess, ReadsTokensOfAnotherDatabaseWithTheSameVersion) {
  ManualClock clock;
  SeededRandom random(1);
  const auto first = open_sqlite_store(std::string(kSqliteMemory), clock).value();
  const auto second = open_sqlite_store(std::string(kSqliteMemory), clock).value();
  const TokenWish reader{.name = "reader", .role = Role::kRead, .scope = QueueScope::of({"*"}).value()};
  const auto old = create_token(first->tokens(), random, reader).value();
  const auto valid = create_token(second->tokens(), random, reader).value();
  const std::int64_t version = first->tokens().tokens().value().version;
  ASSERT_EQ(second->tokens().tokens().value().version, version);

  TokensOfTwo tokens(first->tokens());
  std::ostringstream said;
  NodeAccess access(tokens, clock, {}, Logger(said, clock));
  ASSERT_TRUE(access.start({.listen = {"127.0.0.1:0"}}, true).ok());
  const Gate gate(access.gate());
  EXPECT_EQ(status_of(gate, old.secret), 0);

  tokens.move_to(second->tokens());
  access.on_tick({.now = {}, .token_version = version, .moves = 1});
  EXPECT_EQ(status_of(gate, old.secret), 401);
  EXPECT_EQ(status_of(gate, valid.secret), 0);
}

// The tick is what another node learns a revocation by.
TEST(NodeAccess, SaysThatTheTokensChangedAfterTheyWereReadAgain) {
  ManualClock clock;
  SeededRandom random(1);
  const auto store = open_sqlite_store(std::string(kSqliteMemory), clock).value();
  const TokenWish reader{.name = "reader", .role = Role::kRead, .scope = QueueScope::of({"*"}).value()};
  const auto made = create_token(store->tokens(), random, reader).value();
  std::ostringstream said;
  NodeAccess access(store->tokens(), clock, {}, Logger(said, clock));
  const GateParts gate = access.gate();
  std::optional<Principal> holder;
  std::vector<bool> current;
  access.set_listener([&] { current.push_back(gate.is_current(*holder)); });
  ASSERT_TRUE(access.start({.listen = {"127.0.0.1:0"}}, true).ok());
  holder = gate.find_token(made.secret);
  ASSERT_TRUE(holder);
  const auto tick = [&] {
    access.on_tick({.now = {}, .token_version = store->tokens().tokens().value().version, .moves = 0});
  };
  tick();
  EXPECT_TRUE(current.empty()) << "nothing changed";
  (void)store->tokens().revoke(made.token.id);
  tick();
  EXPECT_EQ(current, std::vector<bool>{false});
  tick();
  EXPECT_EQ(current.size(), 1U);
}

}  // namespace
}  // namespace horae
