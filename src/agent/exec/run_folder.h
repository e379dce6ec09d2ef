// The private folder of a run, in which its program and the agent exchange files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/processes/process_request.h"
#include "base/result.h"

namespace horae::agent {

// Exists as long as this object. Only the program's user may enter it.
//
// Not thread-safe.
class RunFolder {
 public:
  // Makes `path`, which must not exist, with the checkpoint of the attempt before.
  static Result<RunFolder> make(std::string path, const std::optional<std::string>& checkpoint,
                                const std::optional<UserIds>& user);
  ~RunFolder();
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;

  const std::string& path() const { return path_; }
  std::string checkpoint_path() const { return path_ + "/checkpoint"; }
  std::string result_path() const { return path_ + "/result"; }

  // The checkpoint if it has changed since the last call and is JSON now: a program may still be writing it.
  std::optional<std::string> new_checkpoint();

  // What the program left as its result; nothing if it left none. kMalformed if it is not JSON, kOverLimit if it is too
  // large.
  Result<std::optional<std::string>> result() const;

 private:
  RunFolder(std::string path, uid_t user) : path_(std::move(path)), user_(user) {}

  // Only a plain file of the program's own user: a link could lead to what the agent may read and the program may not.
  Result<std::optional<std::string>> content_of(const std::string& path, std::size_t max_bytes) const;

  std::string path_;  // empty: moved from
  uid_t user_;
  std::string checkpoint_;  // as it was last read
};

}  // namespace horae::agent
