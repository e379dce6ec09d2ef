#include "stores/statements.h"

#include <gtest/gtest.h>

#include <string>

namespace horae {

std::span<const Statement> test_statements();  // of awkward_statements.sql, which CMakeLists.txt writes

namespace {

// Initialized before main(), as the statements of the stores are.
const std::string kArray(statement_text(test_statements(), "array"));

TEST(Statements, KeepEveryCharacterOfTheStatement) {
  EXPECT_EQ(statement_text(test_statements(), "awkward"),
            R"sql(select '[brackets] \n and ${braces}', "quotes", 'Ὧραι)' , x[1])sql");
}

TEST(Statements, JoinLinesWithoutCommentsAndIndentation) {
  EXPECT_EQ(kArray, "select ($1::bigint[])[i] from t where a = any($2)");
}

TEST(Statements, AreSortedByName) {
  ASSERT_EQ(test_statements().size(), 2U);
  EXPECT_EQ(test_statements()[0].name, "array");
}

TEST(StatementsDeathTest, StopTheProgramWhenTheNameIsUnknown) {
  EXPECT_DEATH((void)statement_text(test_statements(), "nothing"), "there is no statement nothing");
}

}  // namespace
}  // namespace horae
