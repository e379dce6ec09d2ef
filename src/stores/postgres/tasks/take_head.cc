#include "stores/postgres/tasks/take_head.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "stores/postgres/cache/floors.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/connection/values.h"

namespace horae::postgres {
namespace {

const ValuesStatement kTakeHead{statement("take_head")};    // one wish from one queue
const ValuesStatement kTakeHeads{statement("take_heads")};  // any

// As the statements answer them.
enum class Code { kFine = 0, kShort = 1, kEnded = 2, kServed = 3, kBusy = 4, kOthersHold = 5, kEmpty = 6, kPutOff = 7 };

Params params_for_one(const HeadWish& wish) {
  const ClaimWish& claim = *wish.wishes.front();
  const HeadQueue& queue = wish.queues.front();
  return Params::of(std::int32_t{queue.no}, queue.floor, Floors::kNone, wish.most, std::int64_t{claim.max}, claim.owner,
                    claim.token, claim.lease, queue.made_ready, claim.once);
}

Params params_for_several(const HeadWish& wish) {
  std::vector<std::int32_t> queues;
  std::vector<std::int64_t> floors;
  std::vector<std::optional<std::int16_t>> made_ready;
  for (const HeadQueue& queue : wish.queues) {
    queues.push_back(queue.no);
    floors.push_back(queue.floor);
    made_ready.push_back(queue.made_ready);
  }
  std::vector<std::int32_t> most;
  std::vector<std::string_view> owners;
  std::vector<Uuid> tokens;
  std::vector<Duration> lengths;
  std::vector<bool> once;
  for (const ClaimWish* claim : wish.wishes) {
    most.push_back(claim->max);
    owners.emplace_back(claim->owner);
    tokens.push_back(claim->token);
    lengths.push_back(claim->lease);
    once.push_back(claim->once);
  }
  return Params::of(queues, floors, Floors::kNone, wish.most, made_ready, most, owners, tokens, lengths, once);
}

// In the order of urgency; what is not a piece comes last.
auto order_of(const Row& row) {
  const auto number = [&](int column) { return row.is_null(column) ? 0 : row.integer(column); };
  return std::tuple(number(8), number(9), number(3));
}

void read(const Row& row, TakenHead& head) {
  const auto wish = [&] { return static_cast<std::size_t>(row.integer(1)); };
  switch (static_cast<Code>(row.small(0))) {
    case Code::kFine:
      break;
    case Code::kShort:
      head.is_short = true;
      break;
    case Code::kOthersHold:
      head.others_hold = true;
      break;
    case Code::kEmpty:
      head.is_empty = true;
      break;
    case Code::kPutOff:
      head.is_put_off = true;
      break;
    case Code::kServed:
      head.served.push_back(wish());
      break;
    case Code::kBusy:
      head.busy.push_back(wish());
      break;
    case Code::kEnded:
      head.ended.push_back(row.small(10));
      break;
  }
  if (row.is_null(3)) return;
  head.now = row.instant(2);
  const Range range{row.integer(3), row.integer(4)};
  if (range.size() > 0) {
    head.pieces.push_back({.wish = wish(),
                           .range = range,
                           .queue = row.small(10),
                           .attempt = row.small(5),
                           .is_recurring = row.boolean(6),
                           .rank = row.integer(7)});
  }
  if (row.boolean(11)) head.left_behind.emplace_back(row.small(10), row.integer(7));
}

}  // namespace

std::size_t send_take_head(Transaction& transaction, const HeadWish& wish, const std::vector<FreshRange>& fresh) {
  const bool is_simple = wish.wishes.size() == 1 && wish.queues.size() == 1;
  const ValuesStatement& take = is_simple ? kTakeHead : kTakeHeads;
  return take.send_as_one(transaction, is_simple ? params_for_one(wish) : params_for_several(wish), fresh,
                          [](const FreshRange& each, Params& params) {
                            params.add(each.range.lo).add(each.range.hi).add(std::int32_t{each.queue});
                            params.add(each.priority).add(each.max_attempts).add(each.recurring);
                          });
}

TakenHead read_taken_head(const Transaction& transaction, std::size_t ticket) {
  const Rows& rows = transaction.rows(ticket);
  std::vector<Row> in_order;
  in_order.reserve(static_cast<std::size_t>(rows.size()));
  for (const Row row : rows) in_order.push_back(row);
  std::ranges::sort(in_order, {}, order_of);

  TakenHead head;
  head.pieces.reserve(in_order.size());
  for (const Row& row : in_order) read(row, head);
  return head;
}

}  // namespace horae::postgres
