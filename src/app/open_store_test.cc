#include "app/open_store.h"

#include <gtest/gtest.h>

namespace horae {
namespace {

TEST(WithoutPassword, MasksEveryPlaceOfAPassword) {
  EXPECT_EQ(without_password("postgresql://horae:secret@db:5432/horae"), "postgresql://horae:***@db:5432/horae");
  EXPECT_EQ(without_password("postgresql://horae:a:b/c?d@e@db/horae"), "postgresql://horae:***@db/horae");
  EXPECT_EQ(without_password("postgresql://:secret@db/horae"), "postgresql://:***@db/horae");
  EXPECT_EQ(without_password("postgresql://db/horae?user=me&password=secret&sslmode=require"),
            "postgresql://db/horae?user=me&password=***&sslmode=require");
  EXPECT_EQ(without_password("postgresql://db/horae?sslpassword=one&password=two"),
            "postgresql://db/horae?sslpassword=***&password=***");
  EXPECT_EQ(without_password("postgresql://me:one@db/horae?password=two"), "postgresql://me:***@db/horae?password=***");
}

TEST(WithoutPassword, KeepsTheRest) {
  for (const char* url : {"sqlite:/data/horae.db", "postgresql://db:5432/horae", "postgresql://horae@db:5432/horae",
                          "postgresql://db/horae?options=-cpassword=x", "password=", ""}) {
    EXPECT_EQ(without_password(url), url);
  }
}

}  // namespace
}  // namespace horae
