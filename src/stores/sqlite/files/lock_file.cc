#include "stores/sqlite/files/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "stores/sqlite/files/private_files.h"

namespace horae::sqlite {
namespace {

Error failed(const std::string& path, std::string_view what) {
  return {ErrorCode::kUnavailable,
          fmt::format("lock file {}: cannot be {}: {}; {}", path, what, std::strerror(errno),
                      errno == ENOSPC ? "the disk is full: make room"
                                      : "check that the folder exists and may be written by this user")};
}

// The process id that the holder has written, for the message only.
std::string read_holder(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t length = pread(descriptor, text.data(), text.size(), 0);
  std::string holder(text.data(), static_cast<std::size_t>(length > 0 ? length : 0));
  while (!holder.empty() && holder.back() == '\n') holder.pop_back();
  return holder.empty() ? "unknown" : holder;
}

}  // namespace

Result<LockFile> LockFile::take(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kPrivateMode);
  if (descriptor < 0) return failed(path, "opened");
  LockFile lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failed(path, "locked");
    return Error{
        ErrorCode::kConflict,
        fmt::format(
            "lock file {}: process {} already runs on this database; an embedded database serves one node: stop "
            "that one, or use PostgreSQL for several",
            path, read_holder(descriptor))};
  }
  if (fchmod(descriptor, kPrivateMode) != 0) return failed(path, "given to its owner only (0600)");
  const std::string pid = fmt::format("{}\n", getpid());
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, pid.data(), pid.size(), 0) < 0)
    return failed(path, "written");
  return lock;
}

LockFile::LockFile(LockFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

LockFile::~LockFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace horae::sqlite
