#include "stores/sqlite/files/private_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string_view>

namespace horae::sqlite {
namespace {

namespace fs = std::filesystem;

// Where the files are: SQLite follows a symbolic link and keeps its journal beside the real database.
fs::path real_path(const std::string& path) {
  std::error_code failed;
  const fs::path real = fs::weakly_canonical(path, failed);
  return failed ? fs::path(path) : real;
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

unsigned rights_of(const struct stat& status) { return status.st_mode & 07777U; }

Error failed(const fs::path& path, std::string_view what) {
  return {
      ErrorCode::kUnavailable,
      fmt::format("SQLite database {}: cannot be {}: {}; check that the folder exists and may be written by this user",
                  path.string(), what, std::strerror(errno))};
}

// In a folder with the sticky bit, such as /tmp, only the owner of a file may replace it.
Result<void> check_folder(const fs::path& folder) {
  const auto status = status_of(folder);
  if (!status || (status->st_mode & S_IWOTH) == 0 || (status->st_mode & S_ISVTX) != 0) return {};
  return Error{ErrorCode::kRefused,
               fmt::format("folder {}: every user of this machine may write to it (mode {:04o}), and so replace the "
                           "database: chmod o-w {}, or give the database a folder of its own",
                           folder.string(), rights_of(*status), folder.string())};
}

Result<void> check_owner(const fs::path& path, const struct stat& status) {
  if (status.st_uid == geteuid() || geteuid() == 0) return {};
  return Error{ErrorCode::kRefused,
               fmt::format("SQLite database {}: it belongs to the user {}, and this program runs as {}: run it as that "
                           "user, or change the owner of the database and of what is beside it",
                           path.string(), status.st_uid, geteuid())};
}

}  // namespace

Result<void> check_place(const std::string& path) {
  const fs::path real = real_path(path);
  for (const fs::path& folder : {folder_of(path), folder_of(real)}) {
    if (auto checked = check_folder(folder); !checked.ok()) return checked;
  }
  const auto status = status_of(real);
  return status ? check_owner(real, *status) : Result<void>();
}

Result<void> create_private(const std::string& path) {
  const fs::path real = real_path(path);
  const int descriptor = open(real.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kPrivateMode);
  if (descriptor < 0 && errno != EEXIST) return failed(real, "created");
  if (descriptor >= 0) close(descriptor);
  return {};
}

Result<void> make_private(const std::string& path) {
  const fs::path real = real_path(path);
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    fs::path file = real;
    file += suffix;
    const auto status = status_of(file);
    if (!status || rights_of(*status) == kPrivateMode) continue;
    if (chmod(file.c_str(), kPrivateMode) != 0 && errno != ENOENT)
      return failed(file, "given to its owner only (0600)");
  }
  return {};
}

std::optional<std::string> folder_warning(const std::string& path) {
  const fs::path folder = folder_of(real_path(path));
  const auto status = status_of(folder);
  if (!status || (status->st_mode & S_IWGRP) == 0 || (status->st_mode & S_ISVTX) != 0) return std::nullopt;
  return fmt::format(
      "folder {}: its group may write to it (mode {:04o}), and so replace the database: chmod g-w {}, "
      "unless you trust the group",
      folder.string(), rights_of(*status), folder.string());
}

}  // namespace horae::sqlite
