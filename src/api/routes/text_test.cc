// Text that a client sends is kept exactly, or refused with its field: two different texts never meet as one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/test_world.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kAnyTask = "00000000-0000-7000-8000-000000000001";

std::string key_body(std::string_view key) { return fmt::format(R"({{"queue":"mail","key":"{}","spec":1}})", key); }

TEST(Text, KeysWithHalvesOfSurrogatePairsAreRefusedAndDoNotMeet) {
  ApiWorld world;
  EXPECT_EQ(world.post("/v1/tasks", key_body(R"(\ufffd)")).status, 201);
  for (const std::string_view key : {R"(\ud800)", R"(\ud801)", R"(\udc00)", R"(a\udfff)", R"(\ud800\ud800)"}) {
    const auto refused = world.post("/v1/tasks", key_body(key));
    EXPECT_EQ(refused.status, 400) << key;
    EXPECT_EQ(problem_of(refused), "malformed");
    EXPECT_THAT(refused.body, HasSubstr("in key: ")) << key;
  }
  EXPECT_EQ(world.post("/v1/tasks", key_body(R"(\ud800\udc00)")).status, 201);
  EXPECT_EQ(world.post("/v1/tasks", key_body(R"(\ud800\udc01)")).status, 201);
  EXPECT_EQ(items_of(world.get("/v1/tasks?queue=mail").body, "tasks").size(), 3U);
}

// A body with HERE in the place of a text, and the name of that place.
struct TextPlace {
  std::string_view target;
  std::string_view body;
  std::string_view name;
};

constexpr TextPlace kTextPlaces[] = {
    {"/v1/tasks", R"({"queue":"HERE","spec":1})", "queue"},
    {"/v1/tasks", R"({"queue":"mail","spec":{"a":["b",{"HERE":1}]}})", "spec.a[1]"},
    {"/v1/tasks", R"({"queue":"mail","spec":{"a":["b",{"c":"HERE"}]}})", "spec.a[1].c"},
    {"/v1/tasks", R"({"queue":"mail","spec":1,"retry":{"kind":"HERE"}})", "retry.kind"},
    {"/v1/tasks/batch", R"({"tasks":[{"queue":"mail","spec":1},{"queue":"mail","key":"HERE","spec":1}]})",
     "tasks[1].key"},
    {"/v1/tasks/cancel", R"({"ids":["00000000-0000-7000-8000-000000000001"],"reason":"HERE"})", "reason"},
    {"/v1/claim", R"({"owner":"HERE","queues":["mail"]})", "owner"},
    {"/v1/claim", R"({"owner":"worker-1","queues":["mail","HERE"]})", "queues[1]"},
    {"/v1/settle", R"({"settlements":[{"event":"complete","id":"ID","attempt":1,"owner":"HERE"}]})",
     "settlements[0].owner"},
    {"/v1/settle", R"({"settlements":[{"event":"complete","id":"ID","attempt":1,"owner":"w","result":["HERE"]}]})",
     "settlements[0].result[0]"},
    {"/v1/settle", R"({"settlements":[{"event":"yield","id":"ID","attempt":1,"owner":"w","checkpoint":"HERE"}]})",
     "settlements[0].checkpoint"},
    {"/v1/settle",
     R"({"settlements":[{"event":"abort","id":"ID","attempt":1,"owner":"w","errors":[{"code":"HERE"}]}]})",
     "settlements[0].errors[0].code"},
    {"/v1/settle",
     R"({"settlements":[{"event":"abort","id":"ID","attempt":1,"owner":"w","errors":[{"code":"c","args":{"a":"HERE"}}]}]})",
     "settlements[0].errors[0].args.a"},
    {"/v1/settle",
     R"({"settlements":[{"event":"abort","id":"ID","attempt":1,"owner":"w","errors":[{"code":"c","description":"HERE"}]}]})",
     "settlements[0].errors[0].description"},
    {"/v1/tokens", R"({"name":"HERE","role":"read","queues":["*"]})", "name"},
    {"/tasks", R"({"command":"HERE"})", "command"},
};

std::string filled_in(std::string text, std::string_view name, std::string_view value) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size())) {
    text.replace(at, name.size(), value);
  }
  return text;
}

TEST(Text, WhatIsNoUnicodeIsRefusedInEveryFieldWithItsName) {
  ApiWorld world;
  for (const TextPlace& place : kTextPlaces) {
    for (const std::string_view bad : {R"(\ud800)", R"(x\udc00)", "\xED\xA0\x80", "\xFF", "\xC0\x80"}) {
      const std::string body = filled_in(filled_in(std::string(place.body), "HERE", bad), "ID", kAnyTask);
      const auto refused = world.post(place.target, body);
      EXPECT_EQ(refused.status, 400) << place.target << " " << place.name;
      EXPECT_THAT(refused.body, HasSubstr(fmt::format("in {}: ", place.name)));
    }
  }
}

TEST(Text, WhatIsNoUnicodeIsRefusedInPathsAndQueries) {
  ApiWorld world;
  for (const std::string_view bad : {"%ED%A0%80", "%FF", "%C0%80", "%00", "%", "%u0041"}) {
    EXPECT_EQ(world.get(fmt::format("/v1/queues/mail/keys/{}", bad)).status, 400) << bad;
    const auto refused = world.get(fmt::format("/v1/tasks?state=running&owner={}", bad));
    EXPECT_EQ(refused.status, 400) << bad;
    EXPECT_THAT(refused.body, HasSubstr("owner="));
  }
}

TEST(Text, WhatIsUnicodeIsKeptExactly) {
  ApiWorld world;
  const std::string spec = R"({"\ud83d\ude00":"\uFFFD \u0000 é","é":1})";
  const auto stored =
      world.post("/v1/tasks", fmt::format(R"({{"queue":"mail","key":"\ud83d\ude00é","spec":{}}})", spec));
  ASSERT_EQ(stored.status, 201) << stored.body;
  const auto found = world.get("/v1/queues/mail/keys/%F0%9F%98%80%C3%A9");
  EXPECT_EQ(found.status, 200);
  EXPECT_EQ(member(found.body, "spec"), spec);
  EXPECT_EQ(text_of(found.body, "key"), "\xF0\x9F\x98\x80é");
}

}  // namespace
}  // namespace horae::testing
