#include "stores/sqlite/files/database_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

namespace horae::sqlite {
namespace {

// The databases that this process has locked.
struct Held {
  std::mutex mutex;
  std::set<std::pair<dev_t, ino_t>> files;  // guarded by mutex
};

Held& held() {
  static Held all;
  return all;
}

Error failed(const std::string& path, std::string_view what) {
  return {ErrorCode::kUnavailable,
          fmt::format("SQLite database {}: cannot be {}: {}; check that the folder exists and may be written by this "
                      "user",
                      path, what, std::strerror(errno))};
}

Error is_in_use(const std::string& path) {
  return {ErrorCode::kConflict,
          fmt::format("SQLite database {}: a process already runs on this file under another name (a link, or the name "
                      "before a rename; `fuser` finds it); an embedded database serves one node: stop that one, or use "
                      "PostgreSQL for several",
                      path)};
}

Error has_other_names(const std::string& path, nlink_t names) {
  return {ErrorCode::kRefused,
          fmt::format("SQLite database {}: the file has {} names (hard links), and after a crash under one of them a "
                      "start under another one would lose acknowledged tasks; keep the name under which it was last "
                      "used and remove the others (`find -samefile` finds them)",
                      path, names)};
}

// Of the file to which links lead, so that all names of one folder have one lock file.
std::string real_path(const std::string& path) {
  std::error_code unknown;
  const auto real = std::filesystem::weakly_canonical(path, unknown);
  return unknown ? path : real.string();
}

}  // namespace

Result<DatabaseLock> DatabaseLock::take(const std::string& path) {
  auto beside = LockFile::take(real_path(path) + ".lock");
  if (!beside.ok()) return beside.error();

  const std::lock_guard guard(held().mutex);
  struct stat there {};
  if (stat(path.c_str(), &there) == 0 && held().files.contains({there.st_dev, there.st_ino})) return is_in_use(path);
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return failed(path, "opened");
  std::optional<Error> refused;
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    refused = errno == EWOULDBLOCK ? is_in_use(path) : failed(path, "locked");
  } else if (fstat(descriptor, &there) != 0) {
    refused = failed(path, "examined");
  } else if (there.st_nlink > 1) {
    refused = has_other_names(path, there.st_nlink);
  }
  if (refused) {
    close(descriptor);
    return *refused;
  }
  held().files.insert({there.st_dev, there.st_ino});
  return DatabaseLock(std::move(*beside), {there.st_dev, there.st_ino}, descriptor);
}

DatabaseLock::~DatabaseLock() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  const std::lock_guard guard(held().mutex);
  held().files.erase(file_);
}

}  // namespace horae::sqlite
