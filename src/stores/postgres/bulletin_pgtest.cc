#include "stores/postgres/bulletin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "stores/postgres/test_database.h"
#include "tests/support/postgres_server.h"

namespace horae::postgres {
namespace {

using horae::testing::PgBouncer;
using ::testing::ElementsAre;

constexpr const char* kNothing = "(something may have been lost)";

// A listener, and what it has received.
class Ear {
 public:
  Ear(const std::string& url, Pool& pool)
      : bulletin_(make_bulletin(url, pool, [this](std::optional<std::string_view> message) {
          const std::lock_guard lock(mutex_);
          heard_.emplace_back(message.value_or(kNothing));
          changed_.notify_all();
        })) {}

  Bulletin& bulletin() { return *bulletin_; }

  // Waits until so much was heard.
  std::vector<std::string> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return heard_.size() >= count; });
    return heard_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> heard_;  // guarded by mutex_
  std::unique_ptr<Bulletin> bulletin_;
};

class BulletinTest : public TestDatabase {
 protected:
  // Looks now and then.
  std::string wait_for_other_than(const std::string& unwanted, const std::string& sql) {
    std::string answer = ask(sql);
    while (answer == unwanted) answer = ask(sql);
    return answer;
  }

  static constexpr const char* kListener =
      "select coalesce((select pid::text from pg_stat_activity where datname = current_database()"
      " and query like '%LISTEN horae%' and pid <> pg_backend_pid() limit 1), 'none')";

  Pool pool_{url(), 2};
};

TEST_F(BulletinTest, AllListenersReceiveInOrder) {
  Ear one(url(), pool_);
  Ear other(url(), pool_);
  one.wait_for(1);
  other.wait_for(1);
  EXPECT_TRUE(one.bulletin().can_hear());
  for (const std::string message : {"a", "b", "straße"}) EXPECT_TRUE(one.bulletin().tell(message).ok());
  EXPECT_THAT(one.wait_for(4), ElementsAre(kNothing, "a", "b", "straße"));
  EXPECT_THAT(other.wait_for(4), ElementsAre(kNothing, "a", "b", "straße"));
}

TEST_F(BulletinTest, DeliversTheLongestMessageAndRefusesALongerOne) {
  Ear ear(url(), pool_);
  ear.wait_for(1);
  const std::string longest(kMaxBulletinBytes, 'x');
  EXPECT_TRUE(ear.bulletin().tell(longest).ok());
  EXPECT_EQ(ear.bulletin().tell(longest + "x").error().code, ErrorCode::kRefused);
  EXPECT_THAT(ear.wait_for(2), ElementsAre(kNothing, longest));
}

TEST_F(BulletinTest, ReconnectsAndNotifiesTheListener) {
  Ear ear(url(), pool_);
  ear.wait_for(1);
  const std::string first = wait_for_other_than("none", kListener);
  EXPECT_EQ(ask("select pg_terminate_backend(" + first + ")"), "t");
  ear.wait_for(2);
  EXPECT_TRUE(ear.bulletin().can_hear());
  EXPECT_TRUE(ear.bulletin().tell("again").ok());
  EXPECT_THAT(ear.wait_for(3), ElementsAre(kNothing, kNothing, "again"));
}

TEST_F(BulletinTest, AnIdleListenerSendsNothing) {
  Ear ear(url(), pool_);
  ear.wait_for(1);
  const std::string since =
      "select state_change::text from pg_stat_activity where pid = " + wait_for_other_than("none", kListener);
  const std::string before = ask(since);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(ear.bulletin().tell("x").ok());
  ear.wait_for(21);
  EXPECT_EQ(ask(since), before);
}

TEST_F(BulletinTest, ReportsThatItCannotHearBehindAPooler) {
  const PgBouncer pooler(test_server());
  {
    Pool pooled(pooler.url_of(url()), 2);
    Ear deaf(pooler.url_of(url()), pooled);
    Ear ear(url(), pool_);
    ear.wait_for(1);
    // It gives up when it has not heard itself.
    (void)wait_for_other_than("",
                              "select coalesce(max(query), '') from pg_stat_activity where query = 'UNLISTEN horae'");
    EXPECT_FALSE(deaf.bulletin().can_hear());
    EXPECT_TRUE(deaf.bulletin().tell("from behind the pooler").ok());
    EXPECT_THAT(ear.wait_for(2), ElementsAre(kNothing, "from behind the pooler"));
  }
}

TEST_F(BulletinTest, StopsWhileTheServerCannotBeReached) {
  Pool nowhere("postgresql://horae@127.0.0.1:1/horae", 1);
  Ear ear("postgresql://horae@127.0.0.1:1/horae", nowhere);
  EXPECT_FALSE(ear.bulletin().can_hear());
  EXPECT_EQ(ear.bulletin().tell("x").error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace horae::postgres
