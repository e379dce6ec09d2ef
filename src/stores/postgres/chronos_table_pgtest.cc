#include "stores/postgres/chronos_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time_text.h"
#include "stores/postgres/test_database.h"

namespace horae::postgres {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ChronosTableTest : public TestDatabase {
 protected:
  std::vector<Message> read_all(const std::string& table = {}) {
    return open_chronos_table(url(), table).value()->read("", 100).value();
  }
};

TEST_F(ChronosTableTest, ReadsTheTableOfTheDocumentAlsoWhatIsReadied) {
  ask("create table schedules (id varchar(128) primary key, deadline timestamp not null, readied_at timestamp,"
      " readied_by uuid, message_headers jsonb, message_key varchar(128), message_value bytea);"
      "insert into schedules values ('a', '2026-12-01T11:09:01.123', now(), gen_random_uuid(),"
      " '[{\"h\": \"1\"}, {\"h\": \"2\"}, {\"chronosMessageId\": \"a\"}]', 'k', '\\x00ff'),"
      " ('b', '2026-12-01', null, null, null, null, null); select 1");
  const auto messages = read_all();
  ASSERT_THAT(messages, SizeIs(2));
  EXPECT_EQ(messages[0].id, "a");
  EXPECT_EQ(format_instant(messages[0].deadline), "2026-12-01T11:09:01.123Z");
  EXPECT_EQ(messages[0].key, "k");
  EXPECT_EQ(messages[0].value, std::string("\0\xff", 2));
  EXPECT_THAT(messages[0].headers, ElementsAre(MessageHeader{"h", "1"}, MessageHeader{"h", "2"}));
  EXPECT_EQ(messages[1].key, std::nullopt);
  EXPECT_EQ(messages[1].value, std::nullopt);
  EXPECT_THAT(messages[1].headers, IsEmpty());
}

TEST_F(ChronosTableTest, ReadsTheTypesOfItsCode) {
  ask("create table hanger (id varchar primary key, deadline timestamptz not null, readied_at timestamptz,"
      " readied_by uuid, message_headers jsonb, message_key varchar, message_value jsonb);"
      "insert into hanger values ('a', '2026-12-01T11:09:01Z', null, null, '{\"h\": \"1\"}', 'k', '{\"a\": 1}'); "
      "select 1");
  const auto messages = read_all();
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages[0].value, R"({"a": 1})");
  EXPECT_THAT(messages[0].headers, ElementsAre(MessageHeader{"h", "1"}));
}

TEST_F(ChronosTableTest, ReadsPageByPage) {
  ask("create table \"My Table\" (id varchar primary key, deadline timestamptz, message_headers jsonb, message_key "
      "varchar,"
      " message_value bytea); insert into \"My Table\" select n, now() from generate_series(1, 5) as n; select 1");
  const auto table = open_chronos_table(url(), "\"My Table\"").value();
  EXPECT_THAT(table->read("", 3).value(), SizeIs(3));
  EXPECT_THAT(table->read("3", 3).value(), SizeIs(2));
  EXPECT_THAT(table->read("5", 3).value(), IsEmpty());
}

TEST_F(ChronosTableTest, AnotherTableIsRefused) {
  EXPECT_EQ(open_chronos_table(url(), "").error().code, ErrorCode::kNotFound);
  ask("create table hanger (id varchar); select 1");
  EXPECT_THAT(open_chronos_table(url(), "").error().message, HasSubstr("no column deadline"));
  EXPECT_EQ(open_chronos_table(url(), "nothing").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(open_chronos_table(url(), "hanger; drop table hanger").ok());
}

}  // namespace
}  // namespace horae::postgres
