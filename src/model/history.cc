#include "model/history.h"

#include <utility>

#include "base/check.h"
#include "base/json_text.h"

namespace horae {

std::string_view to_string(HistoryKind kind) {
  switch (kind) {
    case HistoryKind::kAssignment:
      return "TaskAssignment";
    case HistoryKind::kYield:
      return "TaskYield";
    case HistoryKind::kTimeout:
      return "TaskTimeout";
    case HistoryKind::kRetry:
      return "TaskRetry";
    case HistoryKind::kLateResult:
      return "TaskLateResult";
  }
  check_failed("kind", __FILE__, __LINE__, "a kind of history entry outside the enumeration");
}

std::string history_detail(std::string_view json) {
  if (json.size() <= kMaxHistoryDetailBytes) return std::string(json);
  std::string cut;
  append_json_string(cut, std::string(json.substr(0, kMaxHistoryDetailBytes / 2)) + "...");
  return cut;
}

void History::append(HistoryEntry entry) { insert(entries_.size(), std::move(entry)); }

void History::append_assignment(HistoryEntry entry) {
  std::size_t place = entries_.size();
  while (place > 0 && entries_[place - 1].kind == HistoryKind::kLateResult && entries_[place - 1].time > entry.time) {
    --place;
  }
  insert(place, std::move(entry));
}

void History::insert(std::size_t place, HistoryEntry entry) {
  entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(place), std::move(entry));
  if (entries_.size() <= kMaxHistory) return;
  entries_.erase(entries_.begin() + kHistoryFirst);
  ++omitted_;
}

}  // namespace horae
