#include "stores/postgres/connection/values.h"

#include <gtest/gtest.h>

namespace horae::postgres {
namespace {

TEST(ValuesStatement, RepeatsTheRow) {
  const ValuesStatement insert({"insert", "insert into t (a, b, c) values (:a, :long_name, now())"});
  EXPECT_EQ(insert.of_size(1).text, "insert into t (a, b, c) values ($1, $2, now())");
  EXPECT_EQ(insert.of_size(2).text, "insert into t (a, b, c) values ($1, $2, now()), ($3, $4, now())");
}

TEST(ValuesStatement, HasANameForEachNumberOfRows) {
  const ValuesStatement insert({"insert", "insert into t (a) values (:a)"});
  EXPECT_EQ(insert.of_size(1).name, "insert_1");
  EXPECT_EQ(insert.of_size(64).name, "insert_64");
}

TEST(ValuesStatement, NumbersRowsAfterTheParametersOfTheStatement) {
  const ValuesStatement join({"join", "select * from (values (:a, :b::bigint)) as d(a, b) where a < $2 and b = $1"});
  EXPECT_EQ(join.of_size(2).text,
            "select * from (values ($3, $4::bigint), ($5, $6::bigint)) as d(a, b) where a < $2 and b = $1");
}

}  // namespace
}  // namespace horae::postgres
