// Tokens over HTTP.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/access/token_book.h"
#include "api/test_world.h"

namespace horae::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::string_view kWish = R"({"name":"build","role":"submit","queues":["mail.*","x"]})";

TEST(TokenRoutes, CreatesATokenAndShowsItsSecretOnce) {
  ApiWorld world;
  const auto made = world.post("/v1/tokens", kWish);
  ASSERT_EQ(made.status, 201);
  const std::string id = text_of(made.body, "id");
  EXPECT_THAT(id, MatchesRegex("t-[0-9a-f]{12}"));
  EXPECT_EQ(made.headers.at("location"), "/v1/tokens/" + id);
  EXPECT_EQ(made.headers.at("cache-control"), "no-store");
  EXPECT_EQ(text_of(made.body, "name"), "build");
  EXPECT_EQ(text_of(made.body, "role"), "submit");
  EXPECT_EQ(member(made.body, "queues"), R"(["mail.*","x"])");
  const std::string secret = text_of(made.body, "secret");

  const auto listed = world.get("/v1/tokens");
  ASSERT_EQ(listed.status, 200);
  const auto tokens = items_of(listed.body, "tokens");
  ASSERT_THAT(tokens, SizeIs(1));
  EXPECT_EQ(text_of(tokens[0], "id"), id);
  EXPECT_EQ(member(tokens[0], "created_at"), member(made.body, "created_at"));
  EXPECT_THAT(listed.body, Not(HasSubstr(secret)));
  EXPECT_EQ(member(tokens[0], "secret"), "");
}

TEST(TokenRoutes, TheSecretAuthenticates) {
  ApiWorld world;
  const auto made = world.post("/v1/tokens", kWish);
  TokenBook book;
  ASSERT_TRUE(book.refresh(world.store().tokens()).ok());
  const auto principal = book.find(text_of(made.body, "secret"));
  ASSERT_TRUE(principal);
  EXPECT_EQ(principal->token_id, text_of(made.body, "id"));
  EXPECT_EQ(principal->role, Role::kSubmit);
  EXPECT_THAT(principal->scope->patterns(), ElementsAre("mail.*", "x"));
}

TEST(TokenRoutes, ARevokedTokenIsGone) {
  ApiWorld world;
  const std::string id = text_of(world.post("/v1/tokens", kWish).body, "id");
  const auto revoked = world.call("DELETE", "/v1/tokens/" + id);
  EXPECT_EQ(revoked.status, 204);
  EXPECT_EQ(revoked.body, "");
  EXPECT_FALSE(revoked.headers.contains("content-length"));
  EXPECT_THAT(items_of(world.get("/v1/tokens").body, "tokens"), IsEmpty());
  const auto again = world.call("DELETE", "/v1/tokens/" + id);
  EXPECT_EQ(again.status, 404);
  EXPECT_THAT(text_of(again.body, "detail"), HasSubstr(id));
}

TEST(TokenRoutes, EachChangeReachesTheObserver) {
  ApiWorld world;
  const std::string id = text_of(world.post("/v1/tokens", kWish).body, "id");
  EXPECT_EQ(world.changed().tokens, 1);
  (void)world.call("DELETE", "/v1/tokens/none");
  (void)world.get("/v1/tokens");
  EXPECT_EQ(world.changed().tokens, 1);
  (void)world.call("DELETE", "/v1/tokens/" + id);
  EXPECT_EQ(world.changed().tokens, 2);
}

TEST(TokenRoutes, RefusesABadRequestAndCreatesNone) {
  ApiWorld world;
  const auto said = [&](std::string_view body) {
    const auto response = world.post("/v1/tokens", body);
    return fmt::format("{} {}", response.status, text_of(response.body, "detail"));
  };
  EXPECT_THAT(said(R"({"name":"a","role":"root","queues":["*"]})"),
              AllOf(HasSubstr("400"), HasSubstr("give read, submit, work or admin")));
  EXPECT_THAT(said(R"({"name":"a","role":"read"})"), AllOf(HasSubstr("400"), HasSubstr("queues")));
  EXPECT_THAT(said(R"({"name":"a","role":"read","queues":[1]})"), HasSubstr("400"));
  EXPECT_THAT(said(R"({"name":"a","role":"read","queues":["*"],"id":"t-1"})"), HasSubstr("400"));
  EXPECT_THAT(said(R"({"name":"","role":"read","queues":["*"]})"), AllOf(HasSubstr("422"), HasSubstr("name")));
  EXPECT_THAT(said(R"({"name":"a","role":"read","queues":["a b"]})"), AllOf(HasSubstr("422"), HasSubstr("a b")));
  EXPECT_THAT(items_of(world.get("/v1/tokens").body, "tokens"), IsEmpty());
}

}  // namespace
}  // namespace horae::testing
