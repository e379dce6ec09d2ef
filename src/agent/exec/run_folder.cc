#include "agent/exec/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "agent/processes/descriptor.h"
#include "base/json_scan.h"
#include "store/lease.h"

namespace horae::agent {
namespace {

Error failure(const std::string& path) {
  return {ErrorCode::kUnavailable, fmt::format("{}: {}", path, std::strerror(errno))};
}

Result<void> write_file(const std::string& path, std::string_view content, const std::optional<UserIds>& user) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open()) return failure(path);
  if (user && ::fchown(file.number(), user->user, user->group) != 0) return failure(path);
  while (!content.empty()) {
    const ssize_t written = ::write(file.number(), content.data(), content.size());
    if (written < 0) return failure(path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<RunFolder> RunFolder::make(std::string path, const std::optional<std::string>& checkpoint,
                                  const std::optional<UserIds>& user) {
  if (::mkdir(path.c_str(), S_IRWXU) != 0) return failure(path);
  RunFolder folder(std::move(path), user ? user->user : ::geteuid());
  if (checkpoint) {
    auto written = write_file(folder.checkpoint_path(), *checkpoint, user);
    if (!written.ok()) return written.error();
    folder.checkpoint_ = *checkpoint;
  }
  if (user && ::chown(folder.path_.c_str(), user->user, user->group) != 0) return failure(folder.path_);
  return folder;
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), user_(other.user_), checkpoint_(std::move(other.checkpoint_)) {}

RunFolder::~RunFolder() {
  if (path_.empty()) return;
  std::error_code failed;  // what a program made unremovable stays
  std::filesystem::remove_all(path_, failed);
}

Result<std::optional<std::string>> RunFolder::content_of(const std::string& path, std::size_t max_bytes) const {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return std::optional<std::string>();
  struct stat about {};
  if (::fstat(file.number(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_uid != user_ || about.st_nlink != 1) {
    return std::optional<std::string>();
  }
  auto content = read_rest(file.number(), max_bytes);
  if (!content.ok()) return content.error();
  return std::optional(std::move(*content));
}

std::optional<std::string> RunFolder::new_checkpoint() {
  const auto content = content_of(checkpoint_path(), kMaxCheckpointBytes);
  if (!content.ok() || !*content || **content == checkpoint_) return std::nullopt;
  const auto json = scan_json(**content);
  if (!json.ok()) return std::nullopt;
  checkpoint_ = **content;
  return std::string(*json);
}

Result<std::optional<std::string>> RunFolder::result() const {
  auto content = content_of(result_path(), kMaxResultBytes);
  if (!content.ok() || !*content) return content;
  const auto json = scan_json(**content);
  if (!json.ok()) return json.error();
  return std::optional(std::string(*json));
}

}  // namespace horae::agent
