#include "stores/postgres/migrations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>

#include "stores/postgres/test_database.h"
#include "tests/support/postgres_server.h"

namespace horae::postgres {
namespace {

class MigrationsTest : public TestDatabase {};

const int kNewest = static_cast<int>(postgres_migrations().size());

TEST_F(MigrationsTest, AreAllAppliedOnceToAnEmptyDatabase) {
  const auto connection = connect();
  const MigrationReport first = migrate_database(*connection, false).value();
  EXPECT_EQ(first.from, 0);
  EXPECT_EQ(first.to, kNewest);
  EXPECT_THAT(first.steps, ::testing::SizeIs(kNewest));
  EXPECT_EQ(ask("SELECT version FROM horae_version"), std::to_string(kNewest));
  EXPECT_EQ(ask("SELECT count(*) FROM message"), "0");

  const MigrationReport second = migrate_database(*connection, false).value();
  EXPECT_EQ(second.from, kNewest);
  EXPECT_THAT(second.steps, ::testing::IsEmpty());
}

TEST_F(MigrationsTest, ChangeNothingInADryRun) {
  const auto connection = connect();
  const MigrationReport report = migrate_database(*connection, true).value();
  EXPECT_EQ(report.from, 0);
  EXPECT_THAT(report.steps, ::testing::SizeIs(kNewest));
  EXPECT_EQ(ask("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"), "0");
}

TEST_F(MigrationsTest, ContinueAfterTheVersionOfTheDatabase) {
  ask("CREATE TABLE horae_version (one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL);"
      "INSERT INTO horae_version (version) VALUES (1);"
      // As far as a later one changes it.
      "CREATE TABLE queue (name text, paused boolean, base bigint, rate bigint, since bigint, retention bigint);"
      "INSERT INTO queue VALUES ('plain', false, 0, 1, 0, 604800000000000), ('short', false, 0, 1, 0, 1)");
  const auto connection = connect();
  EXPECT_EQ(migrate_database(*connection, false).value().from, 1);
  EXPECT_EQ(ask("SELECT version FROM horae_version"), std::to_string(kNewest));
  EXPECT_EQ(ask("SELECT to_regclass('task') IS NULL"), "t") << "of the first one, which is not applied again";
  EXPECT_EQ(ask("SELECT to_regclass('message') IS NULL"), "f") << "of the second one";
  EXPECT_EQ(ask("SELECT string_agg(name, ' ') FROM queue WHERE configured"), "short") << "of the fifth one";
}

TEST_F(MigrationsTest, RefuseANewerDatabase) {
  const auto connection = connect();
  (void)migrate_database(*connection, false).value();
  ask("UPDATE horae_version SET version = 1000");
  EXPECT_EQ(migrate_database(*connection, false).error().code, ErrorCode::kRefused);
}

TEST_F(MigrationsTest, AreRolledBackWhenTheyFailAndKeepTheConnectionUsable) {
  ask("CREATE TABLE message ()");  // in the way of the second one
  const auto connection = connect();
  const auto report = migrate_database(*connection, false);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kInternal);
  EXPECT_THAT(report.error().message, ::testing::HasSubstr("left at version 1"));
  EXPECT_EQ(ask("SELECT version FROM horae_version"), "1");
  EXPECT_TRUE(connection->usable());

  ask("DROP TABLE message");
  EXPECT_EQ(migrate_database(*connection, false).value().from, 1);
  EXPECT_EQ(ask("SELECT version FROM horae_version"), std::to_string(kNewest));
}

void migrate_together(const std::string& url, int count) {
  std::barrier all_connected(count);
  std::atomic<std::size_t> applied = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      const auto connection = Connection::open(url).value();
      all_connected.arrive_and_wait();
      const auto report = migrate_database(*connection, false);
      ASSERT_TRUE(report.ok()) << report.error().message;
      applied += report->steps.size();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(applied, postgres_migrations().size()) << "only one node reports a step";
}

TEST_F(MigrationsTest, RunOnceWhenManyNodesStartTogether) {
  migrate_together(url(), 8);
  EXPECT_EQ(ask("SELECT version FROM horae_version"), std::to_string(kNewest));
}

TEST_F(MigrationsTest, RunOnceWhenManyNodesStartTogetherBehindAPooler) {
  const horae::testing::PgBouncer pooler(test_server());
  migrate_together(pooler.url_of(url()), 8);
  EXPECT_EQ(ask("SELECT version FROM horae_version"), std::to_string(kNewest));
}

}  // namespace
}  // namespace horae::postgres
