#include "store/list.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/lease.h"

namespace horae {
namespace {

Error refused(std::string message) { return {ErrorCode::kRefused, std::move(message)}; }

bool has_short_window(const ListQuery& query) {
  return query.created_from && query.created_before &&
         *query.created_before - *query.created_from <= std::chrono::floor<std::chrono::microseconds>(kMaxOwnerWindow);
}

}  // namespace

Result<void> check_list_query(const ListQuery& query) {
  if (query.limit < 1 || query.limit > kMaxPage) {
    return refused(fmt::format("limit {}: give 1 to {}", query.limit, kMaxPage));
  }
  if (query.queue) {
    if (auto checked = check_queue_name(*query.queue); !checked.ok()) return checked;
  }
  if (!query.states.empty() && query.kind != ListKind::kFinished && query.kind != ListKind::kAll) {
    return refused("states: only the lists of finished and of all tasks can be filtered by state");
  }
  if (query.kind == ListKind::kFinished && !std::ranges::all_of(query.states, is_terminal)) {
    return refused("states: a finished task is completed, aborted or cancelled");
  }
  if (query.owner) {
    if (auto checked = check_owner(*query.owner); !checked.ok()) return checked;
  }
  if (query.owner && query.kind != ListKind::kRunning && !has_short_window(query)) {
    return refused("owner: give created_from and created_before at most 24h apart as well, or ask for running tasks");
  }
  return {};
}

}  // namespace horae
