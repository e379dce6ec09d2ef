// What happened to a task's leases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace horae {

enum class HistoryKind : std::uint8_t {
  kAssignment,  // an owner got the task
  kYield,       // its owner gave it back
  kTimeout,     // its lease expired
  kRetry,       // its owner aborted it, and it will be tried again
  kLateResult,  // a result was refused, because its owner no longer held the lease
};

// The name in JSON's `_typ`: "TaskAssignment", "TaskYield", "TaskTimeout", "TaskRetry", "TaskLateResult".
std::string_view to_string(HistoryKind kind);

inline constexpr std::size_t kMaxHistoryDetailBytes = 4096;

struct HistoryEntry {
  HistoryKind kind = HistoryKind::kAssignment;
  std::string worker;
  Instant time;
  int attempt = 0;
  std::optional<double> progress;  // what the attempt had reached: of a yield and a timeout
  std::string detail;  // of a retry its errors, of a late result what it brought; JSON, see history_detail()

  friend bool operator==(const HistoryEntry&, const HistoryEntry&) = default;
};

inline constexpr std::size_t kHistoryFirst = 16;    // the oldest entries, which stay
inline constexpr std::size_t kHistoryNewest = 112;  // the newest entries
inline constexpr std::size_t kMaxHistory = kHistoryFirst + kHistoryNewest;

// `json` as a detail: whole if it has at most kMaxHistoryDetailBytes, else its beginning as a JSON string that ends in
// "...".
std::string history_detail(std::string_view json);

// A bounded list of kMaxHistory entries: the first and the newest are kept, those between are dropped and counted.
class History {
 public:
  // `omitted` entries were left out elsewhere, by a store that keeps no more than it must.
  explicit History(std::uint64_t omitted = 0) : omitted_(omitted) {}

  void append(HistoryEntry entry);

  // Appends an assignment before those late results at the end that are younger than it: a store need not have written it
  // down before them.
  void append_assignment(HistoryEntry entry);

  // In the order of time. With `omitted()` above 0, that many are missing after the first kHistoryFirst.
  const std::vector<HistoryEntry>& entries() const { return entries_; }
  std::uint64_t omitted() const { return omitted_; }

  // The newest entry; nothing if there is none.
  const HistoryEntry* newest() const { return entries_.empty() ? nullptr : &entries_.back(); }

  friend bool operator==(const History&, const History&) = default;

 private:
  void insert(std::size_t place, HistoryEntry entry);

  std::vector<HistoryEntry> entries_;
  std::uint64_t omitted_;
};

}  // namespace horae
