// What an agent must know of its attempts after a crash: which it has started, and which results no node has acknowledged.
//
// A file of records, each with a length and a checksum. A record that was written half (a crash, a full disk) is the last
// one; opening cuts it off.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "agent/processes/descriptor.h"
#include "base/log.h"
#include "base/result.h"
#include "model/task.h"

namespace horae::agent {

// One attempt of one owner: an agent has a new owner at each start.
struct AttemptKey {
  std::string owner;
  TaskId id;
  int attempt = 0;

  friend auto operator<=>(const AttemptKey&, const AttemptKey&) = default;
};

struct JournalRecord {
  enum class Kind {
    kStart,  // the attempt is about to be started
    kEnd,    // it has ended: `settlement` is about to be sent
    kOver,   // nothing is left to do for it
  };

  Kind kind = Kind::kStart;
  AttemptKey key;
  std::string settlement = {};  // of kEnd: JSON, as it is sent
};

// Not thread-safe.
class Journal {
 public:
  // Opens the file, or makes it, and reads what earlier agents left. The caller holds the folder's lock (FolderLock).
  // kUnavailable if it cannot be read or written.
  static Result<Journal> open(std::string path, const Logger& log);

  // The attempts that are not over: without a settlement those that were running.
  const std::map<AttemptKey, std::optional<std::string>>& open_attempts() const { return open_; }

  // Writes the records durably, with one fdatasync for all. kUnavailable (the disk is full): none of them counts, and the
  // same call may be repeated.
  Result<void> append(std::span<const JournalRecord> records);

 private:
  Journal(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  void take(const JournalRecord& record);
  Result<void> read(const Logger& log);
  Result<void> rewrite();  // with the open attempts only
  Result<void> write(std::string_view bytes);

  std::string path_;
  Descriptor file_;
  std::size_t size_ = 0;  // of whole records; the file may be longer after a failure
  std::size_t rewrite_at_ = 0;
  std::map<AttemptKey, std::optional<std::string>> open_;
};

}  // namespace horae::agent
