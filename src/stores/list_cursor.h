// Where a list stands, and the cursor that tells it to the caller.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/task.h"
#include "store/list.h"

namespace horae {

// What the list is ordered by, and the number of the task: (run_at, 0, number), (rank, ready second, number),
// (started_at, 0, number) or (0, 0, number). How times are counted is the store's affair.
struct ListPosition {
  std::int64_t first = 0;
  std::int64_t second = 0;
  std::int64_t number = 0;

  friend auto operator<=>(const ListPosition&, const ListPosition&) = default;
};

bool is_newest_first(ListKind kind);

// "s:12:0:7"
std::string write_cursor(ListKind kind, const ListPosition& position);

// The position after which the page of `query` begins: before all of them without a cursor. kMalformed for a cursor
// that is not one of this list.
Result<ListPosition> read_cursor(const ListQuery& query);

// What counts against kMaxPageBytes.
std::size_t payload_bytes(const Task& task);

}  // namespace horae
