#include "agent/journal/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "agent/journal/folder_lock.h"
#include "tests/support/temporary_folder.h"

namespace horae::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

using Kind = JournalRecord::Kind;

class JournalFile : public ::testing::Test {
 protected:
  static AttemptKey key(int attempt) {
    return {.owner = "worker-1", .id = parse_uuid("0190f7c2-0a1b-7c3d-8e4f-0123456789ab").value(), .attempt = attempt};
  }
  Journal open() { return Journal::open(path(), log_).value(); }
  static void append(Journal& journal, const std::vector<JournalRecord>& records) {
    const auto done = journal.append(records);
    EXPECT_TRUE(done.ok()) << done.error().message;
  }
  std::string path() const { return folder_.path() + "/journal"; }
  std::string content() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }

  horae::testing::TemporaryFolder folder_;
  std::ostringstream said_;
  SystemClock clock_;
  Logger log_{said_, clock_};
};

TEST_F(JournalFile, RemembersWhatIsNotOver) {
  {
    Journal journal = open();
    append(journal, {{Kind::kStart, key(1)}, {Kind::kStart, key(2)}, {Kind::kStart, key(3)}});
    append(journal, {{Kind::kEnd, key(1), "{\n\"event\": \"complete\"}"}, {Kind::kEnd, key(2), "{}"}});
    append(journal, {{Kind::kOver, key(2)}});
  }
  for (int i = 0; i < 2; ++i) {  // the second time from the file that the first one has rewritten
    EXPECT_THAT(open().open_attempts(),
                ElementsAre(Pair(key(1), "{\n\"event\": \"complete\"}"), Pair(key(3), std::nullopt)));
  }
  EXPECT_THAT(said_.str(), IsEmpty());
}

TEST_F(JournalFile, CutsOffARecordThatWasNotWrittenToItsEnd) {
  {
    Journal journal = open();
    append(journal, {{Kind::kStart, key(1)}});
  }
  const std::string first = content();
  {
    Journal journal = open();
    append(journal, {{Kind::kEnd, key(1), R"({"event":"complete"})"}});
  }
  const std::string both = content();
  for (std::size_t size = first.size(); size < both.size(); ++size) {
    write(both.substr(0, size));
    EXPECT_THAT(open().open_attempts(), ElementsAre(Pair(key(1), std::nullopt))) << size;
    EXPECT_EQ(content(), first);
  }
  EXPECT_THAT(said_.str(), HasSubstr("cut off"));
}

TEST_F(JournalFile, TakesNoRecordWhoseBytesHaveChanged) {
  {
    Journal journal = open();
    append(journal, {{Kind::kEnd, key(1), R"({"event":"complete"})"}});
  }
  const std::string whole = content();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    write(changed);
    EXPECT_THAT(open().open_attempts(), IsEmpty()) << i;
  }
}

TEST_F(JournalFile, DoesNotGrowWithWhatIsOver) {
  Journal journal = open();
  const std::string large = "\"" + std::string(100'000, 'x') + "\"";
  for (int attempt = 1; attempt <= 100; ++attempt) {
    append(journal, {{Kind::kEnd, key(attempt), large}});
    append(journal, {{Kind::kOver, key(attempt)}});
  }
  EXPECT_LT(content().size(), 2U << 20);
  append(journal, {{Kind::kStart, key(101)}});
  EXPECT_THAT(open().open_attempts(), ElementsAre(Pair(key(101), std::nullopt)));
}

// In a child, because the limit on the size of files stands for a full disk.
TEST_F(JournalFile, TakesNothingOfABatchThatDoesNotFitAndGoesOnWhenThereIsRoom) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    Journal journal = open();
    const std::vector<JournalRecord> small = {{Kind::kStart, key(1)}};
    const std::vector<JournalRecord> large = {{Kind::kEnd, key(1), "\"" + std::string(100'000, 'x') + "\""}};
    const rlimit full{.rlim_cur = 50'000, .rlim_max = RLIM_INFINITY};
    const rlimit empty{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    bool good = journal.append(small).ok();
    ::setrlimit(RLIMIT_FSIZE, &full);
    const auto failed = journal.append(large);
    good = good && !failed.ok() && failed.error().code == ErrorCode::kUnavailable;
    good = good && open().open_attempts().at(key(1)) == std::nullopt;
    Journal again = open();
    ::setrlimit(RLIMIT_FSIZE, &empty);
    good = good && again.append(large).ok();
    ::_exit(good && open().open_attempts().at(key(1)).has_value() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(JournalFile, SurvivesACrashAtAnyMoment) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Journal journal = open();
    for (int attempt = 1;; ++attempt) {
      const std::vector<JournalRecord> records = {{Kind::kEnd, key(attempt), "{}"}};
      if (!journal.append(records).ok()) ::_exit(1);
      (void)!::write(pipe[1], &attempt, sizeof attempt);
    }
  }
  ::close(pipe[1]);
  int acknowledged = 0;
  while (acknowledged < 50 && ::read(pipe[0], &acknowledged, sizeof acknowledged) > 0) continue;
  ::kill(child, SIGKILL);
  while (::read(pipe[0], &acknowledged, sizeof acknowledged) > 0) continue;
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(pipe[0]);
  const Journal journal = open();
  for (int attempt = 1; attempt <= acknowledged; ++attempt) {
    EXPECT_TRUE(journal.open_attempts().contains(key(attempt))) << attempt;
  }
  EXPECT_GE(acknowledged, 50);
}

TEST(FolderLock, IsInheritedByForkedProcessesAndNamesItsOwner) {
  const horae::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/made/for/it";
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    ::close(pipe[1]);
    const auto lock = lock_folder(path, [](const std::string&) {});
    if (::fork() == 0) {
      char byte = 0;
      (void)!::read(pipe[0], &byte, 1);  // until the test closes its end
    }
    ::_exit(lock.ok() ? 0 : 1);
  }
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(owner, &status, 0);
  EXPECT_EQ(status, 0);
  std::string waited_for;
  const auto lock = lock_folder(path, [&](const std::string& pid) {
    waited_for = pid;
    ::close(pipe[1]);
  });
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(waited_for, std::to_string(owner));
}

}  // namespace
}  // namespace horae::agent
