// What only the embedded store does: its lock file, foreign locks, a full disk, versions. All else is in
// tests/store_contract/.

#include "stores/sqlite/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;

class SqliteStoreTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/horae.db"; }
  std::string url() const { return "sqlite:" + path(); }
  std::unique_ptr<Store> open() { return std::move(open_sqlite_store(url(), clock_)).value(); }

  TemporaryFolder folder_;
  SystemClock clock_;
};

// A connection of another program, such as a shell.
class Foreign {
 public:
  explicit Foreign(const std::string& path) { sqlite3_open(path.c_str(), &database_); }
  ~Foreign() { sqlite3_close(database_); }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  int execute(const char* sql) { return sqlite3_exec(database_, sql, nullptr, nullptr, nullptr); }

 private:
  sqlite3* database_ = nullptr;
};

TaskId new_id() {
  static SystemClock clock;
  static SystemRandom random;
  static UuidSource ids(clock, random);
  return ids.next();
}

Result<std::vector<SubmitOutcome>> submit(Store& store, const TaskId& id, const std::string& spec = "{}") {
  const std::vector<Submission> submissions = {{.task = {.queue = "work", .spec = spec}, .new_id = id}};
  return store.tasks().submit(submissions);
}

bool has(Store& store, const TaskId& id) {
  const std::vector<TaskId> ids = {id};
  return store.tasks().get(ids).value().at(0).has_value();
}

TEST_F(SqliteStoreTest, ASecondNodeIsKeptAwayUntilTheFirstIsGone) {
  auto first = open();
  const auto second = open_sqlite_store(url(), clock_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_THAT(second.error().message, HasSubstr("process " + std::to_string(getpid()) + " already runs"));
  first.reset();
  EXPECT_TRUE(open_sqlite_store(url(), clock_).ok());
}

TEST_F(SqliteStoreTest, AForeignLockGivesARetryableErrorAndLosesNothing) {
  const auto store = open();
  const TaskId before = new_id();
  ASSERT_TRUE(submit(*store, before).ok());
  Foreign shell(path());
  ASSERT_EQ(shell.execute("BEGIN IMMEDIATE"), SQLITE_OK);

  const TaskId during = new_id();
  const auto refused = submit(*store, during);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("another program holds a lock"));
  EXPECT_TRUE(has(*store, before)) << "reads go on";

  ASSERT_EQ(shell.execute("ROLLBACK"), SQLITE_OK);
  ASSERT_TRUE(submit(*store, during).ok());
  EXPECT_TRUE(has(*store, during));
}

TEST_F(SqliteStoreTest, LeasesOfATokenAreReadWithoutTheWriter) {
  const auto store = open();
  const TaskId id = new_id();
  ASSERT_TRUE(submit(*store, id).ok());
  const std::vector<ClaimWish> wishes = {{.owner = "worker-1", .queues = {"work"}, .max = 1, .token = new_id()}};
  ASSERT_EQ(store->tasks().claim(wishes).value().at(0).tasks.size(), 1U);
  Foreign shell(path());
  ASSERT_EQ(shell.execute("BEGIN IMMEDIATE"), SQLITE_OK);
  const auto leases = store->tasks().leases_of(wishes[0].token);
  ASSERT_TRUE(leases.ok()) << leases.error().message;
  ASSERT_EQ(leases->size(), 1U);
  EXPECT_EQ(leases->at(0).id, id);
}

// What does not fit into one answer would be read into memory for nothing.
TEST_F(SqliteStoreTest, AClaimLeasesNoMoreThanFitsIntoAnAnswer) {
  const auto store = open();
  const std::string mebibyte = "\"" + std::string(kMaxSpecBytes - 2, 'x') + "\"";
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(submit(*store, new_id(), mebibyte).ok());
  const std::vector<ClaimWish> wish = {{.owner = "worker-1", .queues = {"work"}, .max = 12, .token = new_id()}};
  EXPECT_EQ(store->tasks().claim(wish).value()[0].tasks.size(), kMaxClaimBytes / kMaxSpecBytes);
  const std::vector<ClaimWish> next = {{.owner = "worker-1", .queues = {"work"}, .max = 12, .token = new_id()}};
  EXPECT_EQ(store->tasks().claim(next).value()[0].tasks.size(), 4U);
}

TEST_F(SqliteStoreTest, ADatabaseOfANewerHoraeIsRefused) {
  open();
  Foreign(path()).execute("PRAGMA user_version = 99");
  const auto store = open_sqlite_store(url(), clock_);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, ErrorCode::kRefused);
  EXPECT_THAT(store.error().message, HasSubstr("database is at version 99"));
  EXPECT_THAT(store.error().message, HasSubstr("use a newer horae"));
}

TEST_F(SqliteStoreTest, AFileThatIsNoDatabaseIsRefusedAndLeftAlone) {
  std::ofstream(path()) << "these are not the bytes of a database, but they may still be needed";
  const auto store = open_sqlite_store(url(), clock_);
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("not a database"));
}

TEST_F(SqliteStoreTest, AMissingFolderIsNamed) {
  const auto store = open_sqlite_store("sqlite:" + folder_.path() + "/nowhere/horae.db", clock_);
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("nowhere/horae.db.lock"));
  EXPECT_THAT(store.error().message, HasSubstr("check that the folder exists"));
}

TEST_F(SqliteStoreTest, TheWalStaysBoundedUnderManyWrites) {
  const auto store = open();
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(submit(*store, new_id(), "\"" + std::string(100'000, 'x') + "\"").ok());
  std::ifstream wal(path() + "-wal", std::ios::ate | std::ios::binary);
  EXPECT_LT(wal.tellg(), 16 << 20);
}

TEST_F(SqliteStoreTest, AWalThatALongReaderLetGrowIsCutBackOnceItIsGone) {
  const auto store = open();
  const auto write = [&](int megabytes) {
    const std::string spec = "\"" + std::string(1'000'000, 'x') + "\"";
    for (int i = 0; i < megabytes; ++i) ASSERT_TRUE(submit(*store, new_id(), spec).ok());
  };
  const auto wal_size = [&] { return std::ifstream(path() + "-wal", std::ios::ate | std::ios::binary).tellg(); };
  constexpr std::streamoff kLimit = 64 << 20;
  {
    Foreign reader(path());
    reader.execute("BEGIN; SELECT * FROM task");
    write(80);
    EXPECT_GT(wal_size(), kLimit);  // what the reader may still read must not be overwritten
  }
  write(10);
  EXPECT_LE(wal_size(), kLimit);
}

// Fills a small disk of its own, makes room again, and exits with 0 if all was as it should be.
int live_through_a_full_disk(const std::string& folder, const Clock& clock) {
  const auto failed = [](const char* what) {
    std::fprintf(stderr, "%s\n", what);
    return 1;
  };
  // As root a mount namespace is enough; else a user namespace gives the right to mount.
  if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return failed("unshare");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failed("mount --make-rprivate");
  if (mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=4m") != 0) return failed("mount tmpfs");
  const std::string filler = folder + "/filler";
  std::ofstream(filler) << std::string(2 << 20, 'x');

  const auto store = std::move(open_sqlite_store("sqlite:" + folder + "/horae.db", clock)).value();
  std::vector<TaskId> acknowledged;
  const std::string spec = "\"" + std::string(10'000, 'x') + "\"";
  TaskId refused_id;
  while (true) {
    refused_id = new_id();
    const auto submitted = submit(*store, refused_id, spec);
    if (!submitted.ok()) {
      if (submitted.error().code != ErrorCode::kUnavailable) return failed(submitted.error().message.c_str());
      if (submitted.error().message.find("the disk is full") == std::string::npos)
        return failed(submitted.error().message.c_str());
      break;
    }
    acknowledged.push_back(refused_id);
    if (acknowledged.size() > 1000) return failed("the disk never filled up");
  }
  for (const TaskId& id : acknowledged) {
    if (!has(*store, id)) return failed("an acknowledged task is lost while the disk is full");
  }
  std::remove(filler.c_str());
  if (!submit(*store, refused_id, spec).ok()) return failed("it does not recover when there is room");
  return has(*store, refused_id) ? 0 : failed("the repeated task is not there");
}

TEST_F(SqliteStoreTest, AFullDiskRefusesNewWorkLosesNothingAndRecoversByItself) {
  const pid_t child = fork();
  if (child == 0) _exit(live_through_a_full_disk(folder_.path(), clock_));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// ---- Files ----

constexpr const char* kFiles[] = {"", "-wal", "-shm", ".lock"};

unsigned mode_of(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

TEST_F(SqliteStoreTest, FilesAreForTheirOwnerOnlyAlsoInAFolderThatExisted) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  const mode_t before = umask(0);
  const auto store = open();
  ASSERT_TRUE(submit(*store, new_id()).ok());
  umask(before);
  for (const char* suffix : kFiles) EXPECT_EQ(mode_of(path() + suffix), 0600U) << suffix;
}

TEST_F(SqliteStoreTest, FilesThatOthersCouldReadAreMadePrivate) {
  ASSERT_TRUE(submit(*open(), new_id()).ok());
  for (const char* suffix : {"", ".lock"}) ASSERT_EQ(chmod((path() + suffix).c_str(), 0666), 0);
  const auto store = open();
  ASSERT_TRUE(submit(*store, new_id()).ok());
  for (const char* suffix : kFiles) EXPECT_EQ(mode_of(path() + suffix), 0600U) << suffix;
}

TEST_F(SqliteStoreTest, FilesBehindALinkArePrivateAsWell) {
  const std::string link = folder_.path() + "/link.db";
  ASSERT_TRUE(submit(*open(), new_id()).ok());
  ASSERT_EQ(chmod(path().c_str(), 0666), 0);
  ASSERT_EQ(symlink(path().c_str(), link.c_str()), 0);
  const auto store = std::move(open_sqlite_store("sqlite:" + link, clock_)).value();
  ASSERT_TRUE(submit(*store, new_id()).ok());
  for (const char* suffix : {"", "-wal", "-shm"}) EXPECT_EQ(mode_of(path() + suffix), 0600U) << suffix;
}

TEST_F(SqliteStoreTest, AFolderThatEveryUserMayWriteToIsRefused) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
  const auto store = open_sqlite_store(url(), clock_);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, ErrorCode::kRefused);
  EXPECT_THAT(store.error().message, HasSubstr("chmod o-w " + folder_.path()));
  EXPECT_FALSE(migrate_sqlite(url(), true).ok());
  for (const char* suffix : kFiles) EXPECT_EQ(mode_of(path() + suffix), 0U) << "nothing is written there";
  ASSERT_EQ(chmod(folder_.path().c_str(), 01777), 0);
  EXPECT_TRUE(open_sqlite_store(url(), clock_).ok()) << "as in /tmp, only the owner may replace a file";
}

TEST_F(SqliteStoreTest, AFolderThatAGroupMayWriteToIsWarnedAbout) {
  EXPECT_EQ(sqlite_warning(url()), std::nullopt);
  EXPECT_EQ(sqlite_warning("sqlite::memory:"), std::nullopt);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0770), 0);
  EXPECT_TRUE(open_sqlite_store(url(), clock_).ok());
  EXPECT_THAT(sqlite_warning(url()).value_or(""), HasSubstr("chmod g-w " + folder_.path()));
}

// Runs as another user: 0 if the database is refused and the message names both users.
int open_as_another_user(const std::string& url, const Clock& clock) {
  constexpr uid_t kNobody = 65534;
  if (setresuid(kNobody, kNobody, kNobody) != 0) return 1;
  const auto store = open_sqlite_store(url, clock);
  const bool names_both =
      !store.ok() &&
      store.error().message.find("belongs to the user 0, and this program runs as 65534") != std::string::npos;
  return names_both && store.error().code == ErrorCode::kRefused ? 0 : 1;
}

TEST_F(SqliteStoreTest, ADatabaseOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  open();
  ASSERT_EQ(chmod(folder_.path().c_str(), 01777), 0);
  for (const char* suffix : {"", ".lock"}) ASSERT_EQ(chmod((path() + suffix).c_str(), 0666), 0);
  const pid_t child = fork();
  if (child == 0) _exit(open_as_another_user(url(), clock_));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// ---- Tokens ----

TEST_F(SqliteStoreTest, TokensHaveALimit) {
  const auto store = open();
  Foreign shell(path());
  const std::string fill = "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < " +
                           std::to_string(kMaxTokens) +
                           ") INSERT INTO token SELECT 't-' || i, 'n', 0, '*', x'', 0 FROM n";
  ASSERT_EQ(shell.execute(fill.c_str()), SQLITE_OK);
  const auto create = [&](std::string id) {
    return store->tokens().create({.id = std::move(id), .name = "n", .scope = QueueScope::of({"*"}).value()});
  };
  EXPECT_TRUE(create("t-1").ok());
  EXPECT_EQ(create("t-0").error().code, ErrorCode::kOverLimit);
  EXPECT_EQ(create("t-1").error().code, ErrorCode::kConflict);
  EXPECT_TRUE(store->tokens().revoke("t-7").value());
  EXPECT_TRUE(create("t-0").ok());
}

TEST_F(SqliteStoreTest, ADamagedScopeIsAnErrorAndNotAWiderOne) {
  const auto store = open();
  Foreign shell(path());
  ASSERT_EQ(shell.execute("INSERT INTO token VALUES ('t-1', 'n', 0, '', x'', 0)"), SQLITE_OK);
  EXPECT_FALSE(store->tokens().tokens().ok());
  EXPECT_TRUE(store->queues().queues().ok());
}

}  // namespace
}  // namespace horae::testing
