#include "stores/postgres/connection/statements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace horae::postgres {
namespace {

TEST(Statement, HasItsNameAndText) {
  const Sql version = statement("tokens_version");
  EXPECT_EQ(version.name, "tokens_version");
  EXPECT_EQ(version.text, "select token_version from control");
}

TEST(StatementDeathTest, StopsTheProgramWhenTheNameIsUnknown) {
  EXPECT_DEATH((void)statement("no_such_statement"), "there is no statement no_such_statement");
}

TEST(StatementDeathTest, StopsTheProgramWhenAWriteDoesNotSayHowManyRowsItMustChange) {
  for (const char* name : {"insert_trail", "extend", "delete_ready"}) {
    EXPECT_DEATH((void)statement(name), "how many rows must it change\\? " + std::string(name));
    EXPECT_EQ(statement(name, Changes::kEach).changes, Changes::kEach);
  }
}

TEST(Statement, TextsAreWellFormed) {
  for (const Statement& each : postgres_statements()) {
    SCOPED_TRACE(each.name);
    const std::string_view text = each.text;
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text.find_first_of("\n;"), std::string_view::npos);
    EXPECT_EQ(text.find("--"), std::string_view::npos);
    EXPECT_EQ(std::ranges::count(text, '('), std::ranges::count(text, ')'));
    EXPECT_EQ(std::ranges::count(text, '\'') % 2, 0);
  }
}

TEST(Statement, NamesAreSortedAndUnique) {
  const auto all = postgres_statements();
  EXPECT_TRUE(std::ranges::is_sorted(all, std::ranges::less_equal(), &Statement::name) ||
              std::ranges::adjacent_find(all, std::ranges::greater_equal(), &Statement::name) == all.end());
}

// Longer names are cut off by the server, and two could become one.
TEST(Statement, NamesFitIntoAnIdentifier) {
  for (const Statement& each : postgres_statements()) EXPECT_LE(each.name.size(), 63U - 3U) << each.name;
}

}  // namespace
}  // namespace horae::postgres
