#include "stores/postgres/tasks/take_head.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "stores/postgres/cache/floors.h"
#include "stores/postgres/connection/values.h"

namespace horae::postgres {
namespace {

const std::string kColumns =
    "queue, rank, at, updated_at, attempt, tries, max_attempts, recurring, run_at, ended_event, ended_owner";

// Reads the head of ready_order and leaves to others what they have locked, under the conditions of lock_heads in
// claim.cc; puts the fresh ranges beside it, as make_ready of insertion.cc would have made them; and gives the wish the
// first of both. `upto` is the last number that it gets of a range; below its first one if it gets none. If all ranges
// that it was to look at were used up, and there may be more, nothing is taken. Ranges are deleted by their place, for
// a ready one is locked here and never updated. The number 0 belongs to no task and fills the list of fresh ones up.
// $1 queue, $2 floor, $3 no floor, $4 at most so many ranges, $5 so many tasks, $6 owner, $7 token, $8 length,
// $9 highest priority of tasks that this transaction made ready, or null; then the fresh ranges
const ValuesStatement kTakeHead{
    "take_head",
    "with fresh (lo, hi, priority, max_attempts, recurring) as (",
    5,
    "), wished as materialized ("
    "  select q.no, q.rate, q.paused or coalesce((select stopped from control), true) as closed, s.second,"
    "   q.base + q.rate * (s.second - q.since) as rank_of_zero"
    "  from queue as q, (select floor(extract(epoch from horae_now()))::bigint as second) as s"
    "  where q.no = $1::integer"
    "), head as materialized ("
    "  select place, lo, hi, " +
        kColumns +
        " from wished cross join lateral ("
        "   select *, ctid as place from ready where ready.queue = wished.no and ready.rank >= case wished.rate"
        "    when 0 then $3::bigint else least($2::bigint, wished.rank_of_zero - $9::smallint) end"
        "   order by ready.queue, ready.rank, ready.at, ready.lo + 0 limit $4::bigint for update skip locked) as ready"
        "  where not wished.closed"
        "  union all"
        "  select null, lo, hi, no, rank_of_zero - priority, second, horae_now(), 0, 0, max_attempts, recurring, null,"
        "   null, null from fresh left join wished on true where lo > 0"
        "), cut as materialized ("
        "  select *, case when (select closed from wished) or (select count(*) = $4::bigint"
        "     and sum((hi - lo + 1)::integer) < $5::bigint from head where place is not null) then lo - 1"
        "    else least(hi, hi + $5::bigint - sum((hi - lo + 1)::integer) over (order by rank, at, lo)) end as upto"
        "  from head"
        "), gone as ("
        "  delete from ready where ctid = any (array(select place from cut where upto >= lo and place is not null))"
        "), rest as ("
        "  insert into ready (lo, hi, " +
        kColumns + ") select greatest(lo, upto + 1), hi, " + kColumns +
        "   from cut where upto < hi and (upto >= lo or place is null)"
        "), taken as ("
        "  insert into running (lo, hi, queue, rank, at, attempt, tries, owner, token, length, started_at, expires,"
        "   max_attempts, recurring, run_at, ended_event, ended_owner)"
        "  select lo, upto, queue, rank, at, attempt + 1, tries, $6::text, $7::uuid, $8::bigint, horae_now(),"
        "   horae_now() + ($8::bigint + 999) / 1000 * interval '1 microsecond', max_attempts, recurring, run_at,"
        "   ended_event, ended_owner from cut where upto >= lo"
        ") select horae_now(), lo, upto, attempt + 1, recurring is not null, rank, at, upto < hi"
        " from cut where upto >= lo or place is null",
    "",
    9};

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
