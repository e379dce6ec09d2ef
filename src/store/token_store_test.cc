#include "store/token_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae {
namespace {

Token token(std::string id, std::string name) {
  return {.id = std::move(id), .name = std::move(name), .scope = QueueScope::of({"*"}).value()};
}

std::string refusal(const Token& token) {
  const auto checked = check_token(token);
  if (checked.ok()) return "";
  EXPECT_EQ(checked.error().code, ErrorCode::kRefused);
  return checked.error().message;
}

TEST(Role, EachHasANameThatReadsBack) {
  EXPECT_EQ(to_string(Role::kRead), "read");
  EXPECT_EQ(to_string(Role::kSubmit), "submit");
  EXPECT_EQ(to_string(Role::kWork), "work");
  EXPECT_EQ(to_string(Role::kAdmin), "admin");
  for (const Role role : {Role::kRead, Role::kSubmit, Role::kWork, Role::kAdmin}) {
    EXPECT_EQ(parse_role(to_string(role)), role);
  }
  EXPECT_EQ(parse_role("Admin"), std::nullopt);
  EXPECT_EQ(parse_role(""), std::nullopt);
}

TEST(Role, ANumberThatIsNoneIsAnError) {
  EXPECT_EQ(role_of(3).value(), Role::kAdmin);
  EXPECT_EQ(role_of(4).error().code, ErrorCode::kInternal);
  EXPECT_EQ(role_of(-1).error().code, ErrorCode::kInternal);
}

TEST(Token, NameAndIdAreOneToManyPrintableCharacters) {
  std::string longest;
  for (std::size_t i = 0; i < kMaxTokenName; ++i) longest += "\u00fc";
  EXPECT_EQ(refusal(token("t-1", longest)), "");
  const std::string advice = ": give 1 to 128 characters of UTF-8 without control characters";
  EXPECT_EQ(refusal(token("t-1", "")), "name \"\"" + advice);
  EXPECT_EQ(refusal(token("t-1", "a\nb")), "name \"a\\x0ab\"" + advice);
  EXPECT_NE(refusal(token("t-1", longest + "x")), "");
  EXPECT_EQ(refusal(token("", "build")), "id \"\"" + advice);
}

}  // namespace
}  // namespace horae
