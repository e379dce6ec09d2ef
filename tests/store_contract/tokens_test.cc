// API tokens.

#include "tests/store_contract/contract.h"

namespace horae::testing {

Token Tokens::token(std::string id, std::string name) {
  Token made{.id = std::move(id), .name = std::move(name), .role = Role::kSubmit, .scope = scope_of({"mail.*", "x"})};
  for (std::size_t i = 0; i < made.hash.size(); ++i) made.hash.at(i) = static_cast<std::uint8_t>(i * 9);
  return made;
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_P(Tokens, ThereAreNoneAtFirst) {
  const TokenList list = value_of(tokens().tokens());
  EXPECT_THAT(list.tokens, IsEmpty());
  EXPECT_EQ(list.version, 0);
}

TEST_P(Tokens, ATokenIsKeptAsItIsWithTheTimeOfTheStore) {
  advance(3s);
  Token wanted = token("t-1", "the build \u00fc");
  const Token kept = value_of(tokens().create(wanted));
  wanted.created_at = now();
  EXPECT_EQ(kept, wanted);
  EXPECT_THAT(value_of(tokens().tokens()).tokens, ElementsAre(wanted));
}

TEST_P(Tokens, ATickTellsThatTheyHaveChanged) {
  const TickWish wish{.self = {.id = "worker-1", .address = "a", .version = "1"}};
  const std::int64_t before = value_of(cluster().tick(wish)).token_version;
  (void)value_of(tokens().create(token("t-1", "n")));
  EXPECT_NE(value_of(cluster().tick(wish)).token_version, before);
  EXPECT_EQ(value_of(cluster().tick(wish)).token_version, value_of(tokens().tokens()).version);
}

TEST_P(Tokens, EachRoleIsKept) {
  for (const Role role : {Role::kRead, Role::kSubmit, Role::kWork, Role::kAdmin}) {
    Token wanted = token(std::string("t-") + std::string(to_string(role)), "n");
    wanted.role = role;
    EXPECT_EQ(value_of(tokens().create(wanted)).role, role);
  }
  for (const Token& each : value_of(tokens().tokens()).tokens)
    EXPECT_EQ("t-" + std::string(to_string(each.role)), each.id);
}

TEST_P(Tokens, ComeOldestFirstThenById) {
  (void)value_of(tokens().create(token("t-b", "1")));
  (void)value_of(tokens().create(token("t-a", "2")));
  (void)value_of(tokens().create(token("t-B", "3")));
  advance(1us);
  (void)value_of(tokens().create(token("t-0", "4")));
  std::vector<std::string> ids;
  for (const Token& each : value_of(tokens().tokens()).tokens) ids.push_back(each.id);
  EXPECT_THAT(ids, ElementsAre("t-B", "t-a", "t-b", "t-0"));
}

TEST_P(Tokens, AnIdIsGivenOnce) {
  const Token first = value_of(tokens().create(token("t-1", "first")));
  const auto before = value_of(tokens().tokens()).version;
  EXPECT_EQ(code_of(tokens().create(token("t-1", "second"))), ErrorCode::kConflict);
  const TokenList list = value_of(tokens().tokens());
  EXPECT_THAT(list.tokens, ElementsAre(first));
  EXPECT_EQ(list.version, before);
}

TEST_P(Tokens, TwoMayHaveTheSameName) {
  (void)value_of(tokens().create(token("t-1", "build")));
  EXPECT_TRUE(tokens().create(token("t-2", "build")).ok());
}

TEST_P(Tokens, ABadNameIsRefused) {
  EXPECT_EQ(code_of(tokens().create(token("t-1", ""))), ErrorCode::kRefused);
  EXPECT_EQ(code_of(tokens().create(token("", "build"))), ErrorCode::kRefused);
  EXPECT_THAT(value_of(tokens().tokens()).tokens, IsEmpty());
}

TEST_P(Tokens, ARevokedOneIsGone) {
  (void)value_of(tokens().create(token("t-1", "a")));
  const Token other = value_of(tokens().create(token("t-2", "b")));
  EXPECT_TRUE(value_of(tokens().revoke("t-1")));
  EXPECT_THAT(value_of(tokens().tokens()).tokens, ElementsAre(other));
  EXPECT_FALSE(value_of(tokens().revoke("t-1")));
  EXPECT_FALSE(value_of(tokens().revoke("t-2'")));
}

TEST_P(Tokens, TheVersionChangesWithEachCreateAndRevokeAndWithNothingElse) {
  const auto version = [&] { return value_of(tokens().tokens()).version; };
  (void)value_of(tokens().create(token("t-1", "a")));
  const auto created = version();
  EXPECT_NE(created, 0);
  EXPECT_EQ(version(), created);
  (void)value_of(tokens().revoke("t-0"));
  EXPECT_EQ(version(), created);
  (void)value_of(tokens().revoke("t-1"));
  EXPECT_GT(version(), created);
}

TEST_P(Tokens, ManyCallersAtOnceEachChangeTheVersion) {
  constexpr int kCallers = 4;
  together(kCallers, [&](int caller) {
    const std::string id = "t-" + std::to_string(caller);
    (void)value_of(tokens().create(token(id, "n")));
    (void)value_of(tokens().revoke(id));
    (void)value_of(tokens().create(token(id, "n")));
  });
  const TokenList list = value_of(tokens().tokens());
  EXPECT_EQ(list.tokens.size(), static_cast<std::size_t>(kCallers));
  EXPECT_EQ(list.version, 3 * kCallers);
}

TEST_P(Tokens, StayAfterAReopen) {
  const Token kept = value_of(tokens().create(token("t-1", "a")));
  (void)value_of(tokens().create(token("t-2", "b")));
  (void)value_of(tokens().revoke("t-2"));
  const auto version = value_of(tokens().tokens()).version;
  if (!reopen()) return;
  EXPECT_THAT(value_of(tokens().tokens()).tokens, ElementsAre(kept));
  EXPECT_EQ(value_of(tokens().tokens()).version, version);
}

}  // namespace
}  // namespace horae::testing
