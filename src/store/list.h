// Lists of tasks, page by page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/queue_scope.h"
#include "model/task.h"

namespace horae {

inline constexpr int kMaxPage = 1'000;
inline constexpr int kDefaultPage = 100;
inline constexpr std::size_t kMaxExamined = 10'000;  // tasks that one page reads
inline constexpr std::size_t kMaxPageBytes =
    8 << 20;  // of specs, results, checkpoints and errors in one page; one task always fits
inline constexpr Duration kMaxOwnerWindow = std::chrono::hours(24);

// Each list has an order that never changes while a task stays in it, and so a cursor that stays good.
enum class ListKind {
  kScheduled,  // by (run_at, number)
  kReady,      // by (rank, ready second, number): within one queue, the order of claims
  kRunning,    // by (started_at, number)
  kFinished,   // by number, newest first
  kAll,        // by number, newest first
};

struct ListQuery {
  ListKind kind = ListKind::kAll;
  std::optional<std::string> queue;
  std::vector<State> states;  // kFinished and kAll only: any of these; empty means all
  std::optional<std::string>
      owner;  // kRunning, or another list with created_from and created_before at most a day apart
  std::optional<Instant> created_from;    // this or later
  std::optional<Instant> created_before;  // earlier than this
  int limit = kDefaultPage;               // 1 to kMaxPage
  std::string cursor;                     // empty for the first page; else Page::next of the page before, same query
  Scope scope;                            // of the caller: tasks outside are not in the list
};

// Some tasks, without their history. A page may be short, even empty, and still have a next one, because it reads at
// most kMaxExamined tasks.
struct Page {
  std::vector<Task> tasks;
  std::string next;  // empty after the last page
  Instant as_of;
};

// kRefused for a limit, queue, owner, owner window or state filter out of range. The cursor is checked by the store
// (kMalformed).
Result<void> check_list_query(const ListQuery& query);

}  // namespace horae
