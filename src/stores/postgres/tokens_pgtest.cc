// What only many callers or a full table show; all else is in tests/store_contract/.

#include "stores/postgres/tokens.h"

#include <gtest/gtest.h>

#include "stores/postgres/migrations.h"
#include "stores/postgres/test_database.h"

namespace horae::postgres {
namespace {

class TokensTest : public TestDatabase {
 protected:
  TokensTest() { (void)migrate_database(*connect(), false).value(); }

  static Token token(std::string id) {
    return {.id = std::move(id), .name = "n", .scope = QueueScope::of({"*"}).value()};
  }

  Pool pool_{url(), 4};
  Tokens tokens_{pool_};
};

TEST_F(TokensTest, HaveALimit) {
  ask("insert into token select 't-' || n, 'n', 0, '{*}', '', now() from generate_series(2, " +
      std::to_string(kMaxTokens) + ") as n");
  EXPECT_TRUE(tokens_.create(token("t-1")).ok());
  const auto version = tokens_.tokens().value().version;
  EXPECT_EQ(tokens_.create(token("t-0")).error().code, ErrorCode::kOverLimit);
  EXPECT_EQ(tokens_.create(token("t-1")).error().code, ErrorCode::kConflict);
  EXPECT_EQ(tokens_.tokens().value().version, version);
  EXPECT_TRUE(tokens_.revoke("t-7").value());
  EXPECT_TRUE(tokens_.create(token("t-0")).ok());
}

TEST_F(TokensTest, ADamagedScopeIsAnErrorAndNeverWidensAccess) {
  ask("insert into token values ('t-1', 'n', 0, '{}', '', now())");
  EXPECT_FALSE(tokens_.tokens().ok());
}

}  // namespace
}  // namespace horae::postgres
