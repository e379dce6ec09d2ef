// The tables of fields against what is written and what the OpenAPI document says.
#include "api/json/task_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/json/task_json.h"
#include "api/openapi/openapi.h"
#include "base/json_scan.h"

namespace horae {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::vector<std::string> keys_of(std::string_view object) {
  std::vector<std::string> keys;
  for (const JsonMember& member : scan_object(object).value()) keys.emplace_back(member.key);
  return keys;
}

std::string_view member_of(std::string_view object, std::string_view name) {
  for (const JsonMember& member : scan_object(object).value()) {
    if (member.key == name) return member.value;
  }
  return "";
}

std::string schema_of(std::string_view name) {
  for (const NamedSchema& schema : openapi_schemas()) {
    if (schema.name == name) return schema.json;
  }
  return "{}";
}

struct Four {
  int one = 0;
  std::string two;
  std::optional<Uuid> three;
  std::vector<TaskError> four;
};

TEST(MemberCount, CountsMembersOfAnyType) {
  EXPECT_EQ(member_count<Four>(), 4U);
  EXPECT_EQ(member_count<TaskError>(), 3U);
}

TEST(TaskFields, AreWhatATaskIsWrittenWithAndWhatItsSchemaHas) {
  std::string json;
  append_task(json, Task{.queue = "mail", .spec = "1", .history = History()});
  EXPECT_THAT(keys_of(member_of(schema_of("Task"), "properties")), ElementsAreArray(keys_of(json)));
  json.clear();
  append_leased_task(json, {.queue = "mail", .spec = "1"});
  EXPECT_THAT(keys_of(member_of(schema_of("LeasedTask"), "properties")), ElementsAreArray(keys_of(json)));
}

TEST(TaskFields, ATaskInAListLacksNothingThatItsSchemaRequires) {
  std::string json;
  append_task(json, Task{.queue = "mail", .spec = "1", .history = History()}, false);
  const std::vector<std::string> written = keys_of(json);
  const std::string task = schema_of("Task");
  for (const std::string_view name : scan_array(member_of(task, "required")).value()) {
    EXPECT_THAT(written, ::testing::Contains(unescape_json(name)));
  }
}

TEST(TaskFields, ASchemaNamesWhatIsRequired) {
  const std::string schema = schema_of("NewTask");
  EXPECT_THAT(scan_array(member_of(schema, "required")).value(), ElementsAre("\"queue\"", "\"spec\""));
  EXPECT_EQ(member_of(schema, "additionalProperties"), "false");
  EXPECT_THAT(keys_of(member_of(schema, "properties")), ElementsAreArray(kNewTaskFields.names));
}

TEST(TaskFields, ASchemaOfABodyAllowsNullForWhatMayBeLeftOut) {
  const std::string task = schema_of("NewTask");
  const std::string_view properties = member_of(task, "properties");
  EXPECT_EQ(member_of(member_of(properties, "priority"), "type"), R"(["integer","null"])");
  EXPECT_THAT(std::string(member_of(properties, "recurring")), ::testing::HasSubstr(R"({"type":"null"})"));
  EXPECT_THAT(std::string(member_of(properties, "queue")), ::testing::Not(::testing::HasSubstr("null")));
  EXPECT_EQ(schema::or_null(R"({"type":"string","maxLength":3})"), R"({"type":["string","null"],"maxLength":3})");
  EXPECT_EQ(schema::or_null(schema::kAny), schema::kAny);
}

}  // namespace
}  // namespace horae
