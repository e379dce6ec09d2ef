#include "api/access/token_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "api/access/token_text.h"

namespace horae {
namespace {

using ::testing::ElementsAre;

// A list of tokens set by the test, or a failure.
class ListedTokens final : public TokenStore {
 public:
  Result<Token> create(const Token& token) override {
    list.tokens.push_back(token);
    ++list.version;
    return token;
  }
  Result<bool> revoke(std::string_view id) override {
    ++list.version;
    return std::erase_if(list.tokens, [&](const Token& token) { return token.id == id; }) > 0;
  }
  Result<TokenList> tokens() override {
    if (is_away) return Error{ErrorCode::kUnavailable, "the store is unavailable"};
    return list;
  }

  TokenList list = {};
  bool is_away = false;
};

class TokenBookTest : public ::testing::Test {
 protected:
  // The secret of a new token.
  std::string create(Role role, std::vector<std::string> patterns) {
    const NewSecret secret = make_secret(random_);
    (void)store_.create({.id = secret.id,
                         .name = "build",
                         .role = role,
                         .scope = QueueScope::of(std::move(patterns)).value(),
                         .hash = secret.hash});
    return secret.text;
  }

  SystemRandom random_;
  ListedTokens store_;
  TokenBook book_;
};

TEST_F(TokenBookTest, FindsNoTokenBeforeTheFirstRefresh) {
  const std::string secret = create(Role::kAdmin, {"*"});
  EXPECT_FALSE(book_.find(secret));
  EXPECT_TRUE(book_.is_empty());
  EXPECT_EQ(book_.version(), TokenBook::kNeverRead);
}

TEST_F(TokenBookTest, FindsTheHolderOfASecret) {
  const std::string secret = create(Role::kWork, {"mail.*", "x"});
  ASSERT_TRUE(book_.refresh(store_).ok());
  const auto principal = book_.find(secret);
  ASSERT_TRUE(principal);
  EXPECT_EQ(principal->token_id, store_.list.tokens[0].id);
  EXPECT_EQ(principal->name, "build");
  EXPECT_EQ(principal->role, Role::kWork);
  ASSERT_NE(principal->scope, nullptr);
  EXPECT_THAT(principal->scope->patterns(), ElementsAre("mail.*", "x"));
  EXPECT_FALSE(book_.is_empty());
  EXPECT_EQ(book_.version(), 1);
}

TEST_F(TokenBookTest, ATokenMayMakeSoManyQueuesForEachOfItsPatterns) {
  TokenBook book(100);
  const std::string secret = create(Role::kSubmit, {"mail.*", "x"});
  const std::string admin = create(Role::kAdmin, {"*"});
  ASSERT_TRUE(book.refresh(store_).ok());
  const auto holder = book.find(secret);
  ASSERT_TRUE(holder && holder->allowance);
  EXPECT_EQ(holder->allowance->token, holder->token_id);
  EXPECT_EQ(holder->allowance->most, 200U);
  EXPECT_EQ(book.find(admin)->allowance, nullptr) << "an administrator can make queues by configuring them anyway";
}

TEST_F(TokenBookTest, AScopeThatAllowsAllQueuesIsNull) {
  const std::string secret = create(Role::kRead, {"mail", "*"});
  ASSERT_TRUE(book_.refresh(store_).ok());
  EXPECT_EQ(book_.find(secret)->scope, nullptr);
}

TEST_F(TokenBookTest, AWrongSecretWithAnExistingIdIsNotFound) {
  std::string secret = create(Role::kAdmin, {"*"});
  ASSERT_TRUE(book_.refresh(store_).ok());
  secret.back() = secret.back() == 'A' ? 'B' : 'A';
  EXPECT_FALSE(book_.find(secret));
  EXPECT_FALSE(book_.find(make_secret(random_).text));
  EXPECT_FALSE(book_.find(store_.list.tokens[0].id));
  EXPECT_FALSE(book_.find(""));
}

TEST_F(TokenBookTest, ARevokedTokenIsGoneAfterTheNextRefresh) {
  const std::string secret = create(Role::kAdmin, {"*"});
  ASSERT_TRUE(book_.refresh(store_).ok());
  (void)store_.revoke(store_.list.tokens[0].id);
  EXPECT_TRUE(book_.find(secret));
  ASSERT_TRUE(book_.refresh(store_).ok());
  EXPECT_FALSE(book_.find(secret));
  EXPECT_TRUE(book_.is_empty());
  EXPECT_EQ(book_.version(), 2);
}

TEST_F(TokenBookTest, ACallerIsCurrentUntilItsTokenIsRevokedOrChanged) {
  const std::string kept = create(Role::kRead, {"*"});
  const std::string shrunk = create(Role::kWork, {"a", "b"});
  const std::string demoted = create(Role::kWork, {"a"});
  const std::string revoked = create(Role::kAdmin, {"*"});
  ASSERT_TRUE(book_.refresh(store_).ok());
  std::vector<Principal> callers;
  for (const std::string& secret : {kept, shrunk, demoted, revoked}) callers.push_back(book_.find(secret).value());
  const auto current = [&] {
    std::vector<bool> answers;
    for (const Principal& caller : callers) answers.push_back(book_.is_current(caller));
    return answers;
  };
  EXPECT_THAT(current(), ElementsAre(true, true, true, true));
  store_.list.tokens[1].scope = QueueScope::of({"a"}).value();
  store_.list.tokens[2].role = Role::kRead;
  (void)store_.revoke(store_.list.tokens[3].id);
  EXPECT_THAT(current(), ElementsAre(true, true, true, true)) << "the copy is still the old one";
  ASSERT_TRUE(book_.refresh(store_).ok());
  EXPECT_THAT(current(), ElementsAre(true, false, false, false));
  EXPECT_TRUE(book_.is_current(Principal{})) << "a caller without a token has nothing to lose";
}

TEST_F(TokenBookTest, KeepsItsTokensWhileTheStoreIsUnavailable) {
  const std::string secret = create(Role::kAdmin, {"*"});
  ASSERT_TRUE(book_.refresh(store_).ok());
  store_.is_away = true;
  EXPECT_EQ(book_.refresh(store_).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(book_.find(secret));
  EXPECT_EQ(book_.version(), 1);
}

TEST_F(TokenBookTest, CanBeReadDuringARefresh) {
  const std::string secret = create(Role::kAdmin, {"*"});
  ASSERT_TRUE(book_.refresh(store_).ok());
  std::atomic<bool> is_over = false;
  std::thread reader([&] {
    while (!is_over) EXPECT_TRUE(book_.find(secret));
  });
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(book_.refresh(store_).ok());
  is_over = true;
  reader.join();
}

}  // namespace
}  // namespace horae
