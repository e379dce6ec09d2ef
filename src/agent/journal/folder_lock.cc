#include "agent/journal/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace horae::agent {
namespace {

constexpr std::size_t kMaxPidBytes = 64;

Error failure(const std::string& path) {
  return {ErrorCode::kUnavailable, fmt::format("{}: {}", path, std::strerror(errno))};
}

}  // namespace

Result<Descriptor> lock_folder(const std::string& folder, const std::function<void(const std::string& pid)>& on_wait) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return Error{ErrorCode::kUnavailable, fmt::format("{}: {}", folder, failed.message())};
  const std::string path = folder + "/lock";
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open()) return failure(path);
  if (::flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failure(path);
    auto pid = read_rest(file.number(), kMaxPidBytes);
    on_wait(pid.ok() ? *pid : "");
    while (::flock(file.number(), LOCK_EX) != 0) {
      if (errno != EINTR) return failure(path);
    }
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(file.number(), 0) != 0 ||
      ::pwrite(file.number(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    // The pid is only for the message of an agent that waits.
  }
  return file;
}

}  // namespace horae::agent
