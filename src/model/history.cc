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

void History::append(HistoryEntry entry) {
  if (entries_.size() == kMaxHistory) {
    entries_.erase(entries_.begin() + kHistoryFirst);
    ++omitted_;
  }
  entries_.push_back(std::move(entry));
}

}  // namespace horae
