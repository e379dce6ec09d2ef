// That one database serves one node, whatever name it is opened by.

#include "stores/sqlite/files/database_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/clock.h"
#include "stores/sqlite/sqlite_store.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;

class DatabaseLockTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/horae.db"; }
  std::string link() const { return other_folder_.path() + "/link.db"; }
  Result<std::unique_ptr<Store>> open(const std::string& path) { return open_sqlite_store("sqlite:" + path, clock_); }

  // Runs a check in a process of its own, which has none of the locks of this one.
  template <typename Check>
  static bool in_another_process(Check check) {
    const pid_t child = fork();
    if (child == 0) _exit(check() ? 0 : 1);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status) == 0;
  }

  static bool is_locked(const std::string& path) {
    return in_another_process([&] {
      const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
      return file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0;
    });
  }

  TemporaryFolder folder_;
  TemporaryFolder other_folder_;
  SystemClock clock_;
};

TEST_F(DatabaseLockTest, ASymbolicLinkLeadsToTheSameLock) {
  auto first = open(path());
  ASSERT_TRUE(first.ok());
  std::filesystem::create_symlink(path(), link());
  const auto second = open(link());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_THAT(second.error().message, HasSubstr("process " + std::to_string(getpid()) + " already runs"));
  first->reset();
  EXPECT_TRUE(open(link()).ok());
}

TEST_F(DatabaseLockTest, AHardLinkInAnotherFolderLeadsToTheSameLock) {
  const auto first = open(path());
  ASSERT_TRUE(first.ok());
  std::filesystem::create_hard_link(path(), link());
  const auto second = open(link());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_THAT(second.error().message, HasSubstr(link()));
  EXPECT_THAT(second.error().message, HasSubstr("already runs on this file under another name"));
  EXPECT_FALSE(std::filesystem::exists(link() + "-wal"));
  EXPECT_TRUE(is_locked(link())) << "the kernel keeps other processes away";
}

TEST_F(DatabaseLockTest, ARenamedFileIsStillLocked) {
  const auto first = open(path());
  ASSERT_TRUE(first.ok());
  std::filesystem::rename(path(), link());
  EXPECT_EQ(open(link()).error().code, ErrorCode::kConflict);
  EXPECT_TRUE(is_locked(link()));
}

// The write-ahead log is beside the name under which the tasks were acknowledged.
TEST_F(DatabaseLockTest, AFileWithTwoNamesIsRefused) {
  ASSERT_TRUE(open(path()).ok());
  std::filesystem::create_hard_link(path(), link());
  for (const std::string& name : {path(), link()}) {
    const auto refused = open(name);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
    EXPECT_THAT(refused.error().message, HasSubstr("has 2 names"));
  }
  std::filesystem::remove(link());
  EXPECT_TRUE(open(path()).ok());
}

// A descriptor that is closed drops all POSIX locks of its process on that file, those of SQLite too. Without them
// another program that opens and closes the database removes the write-ahead log that this process writes to.
TEST_F(DatabaseLockTest, ARefusedStartLeavesTheLocksOfSqliteAlone) {
  const auto first = open(path());
  ASSERT_TRUE(first.ok());
  std::filesystem::create_hard_link(path(), link());
  ASSERT_FALSE(open(link()).ok());
  ASSERT_FALSE(open(path()).ok());
  EXPECT_TRUE(in_another_process([&] {
    // SQLite's range of shared locks: each open connection to a database with a write-ahead log has one.
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = 0x40000000 + 2;
    range.l_len = 510;
    const int file = ::open(path().c_str(), O_RDWR | O_CLOEXEC);
    return fcntl(file, F_GETLK, &range) == 0 && range.l_type != F_UNLCK;
  }));
}

TEST_F(DatabaseLockTest, ANewDatabaseIsReadableByItsOwnerOnly) {
  const auto store = open(path());
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(std::filesystem::status(path()).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

}  // namespace
}  // namespace horae::testing
