#include "stores/postgres/tasks/take_head.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "stores/postgres/cache/floors.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/connection/values.h"

namespace horae::postgres {
namespace {

const ValuesStatement kTakeHead{statement("take_head")};

// In the order of urgency.
auto order_of(const Row& row) { return std::tuple(row.integer(5), row.integer(6), row.integer(1)); }

}  // namespace

std::size_t send_take_head(Transaction& transaction, const HeadWish& wish, const std::vector<FreshRange>& fresh) {
  const ClaimWish& claim = *wish.wish;
  return kTakeHead.send_as_one(
      transaction,
      Params::of(std::int32_t{wish.queue}, wish.floor, Floors::kNone, wish.most, std::int64_t{claim.max}, claim.owner,
                 claim.token, claim.lease, wish.made_ready),
      fresh, [](const FreshRange& each, Params& params) {
        params.add(each.range.lo).add(each.range.hi).add(each.priority).add(each.max_attempts).add(each.recurring);
      });
}

TakenHead read_taken_head(const Transaction& transaction, std::size_t ticket) {
  const Rows& rows = transaction.rows(ticket);
  std::vector<Row> in_order;
  in_order.reserve(static_cast<std::size_t>(rows.size()));
  for (const Row row : rows) in_order.push_back(row);
  std::ranges::sort(in_order, {}, order_of);

  TakenHead head;
  head.ranges.reserve(in_order.size());
  for (const Row& row : in_order) {
    head.now = row.instant(0);
    const Range range{row.integer(1), row.integer(2)};
    if (range.size() > 0) head.ranges.push_back({range, row.small(3), row.boolean(4), row.integer(5)});
    if (row.boolean(7)) head.left_behind.push_back(row.integer(5));
  }
  return head;
}

}  // namespace horae::postgres
