#include "stores/postgres/take_head.h"

#include <utility>

#include "stores/postgres/floors.h"

namespace horae::postgres {
namespace {

// Reads the head of run_order and leaves to others what they have locked, under the conditions of lock_heads in
// claim.cc. `upto` is the last number that the wish gets of a range; below its first one if it gets none. If all ranges
// were used up and there may be more, nothing is taken.
// $1 queue, $2 floor, $3 no floor, $4 at most so many ranges, $5 so many tasks, $6 owner, $7 token, $8 length,
// $9 highest priority of tasks that this transaction made ready, or null
const Sql kTakeHead{
    "take_head",
    "with head as materialized ("
    "  select r.* from queue as q cross join lateral ("
    "   select * from run where run.queue = q.no"
    "   and run.rank >= case q.rate when 0 then $3::bigint else least($2::bigint,"
    "    q.base + q.rate * (floor(extract(epoch from horae_now()))::bigint - q.since) - $9::smallint) end"
    "   order by run.queue, run.rank, run.at, run.lo + 0 limit $4::bigint for update skip locked) as r"
    "  where q.no = $1::integer and not q.paused and not (select stopped from control)"
    "), cut as materialized ("
    "  select *, least(hi, hi + $5::bigint - sum(hi - lo + 1) over (order by rank, at, lo))::bigint as upto from head"
    "  where (select sum(hi - lo + 1) >= $5::bigint or count(*) < $4::bigint from head)"
    "), gone as ("
    "  delete from run where lo = any (array(select lo from cut where upto >= lo))"
    "), rest as ("
    "  insert into run (lo, hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring, run_at,"
    "   ended_event, ended_owner)"
    "  select upto + 1, hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring, run_at, ended_event,"
    "   ended_owner from cut where upto >= lo and upto < hi"
    "), taken as ("
    "  insert into lease (lo, hi, queue, rank, at, attempt, tries, owner, token, length, started_at, expires,"
    "   max_attempts, recurring, run_at, ended_event, ended_owner)"
    "  select lo, upto, queue, rank, at, attempt + 1, tries, $6::text, $7::uuid, $8::bigint, horae_now(),"
    "   horae_now() + ($8::bigint + 999) / 1000 * interval '1 microsecond', max_attempts, recurring, run_at,"
    "   ended_event, ended_owner from cut where upto >= lo"
    ") select horae_now(), lo, upto, attempt + 1, recurring is not null, rank, upto < hi"
    " from cut where upto >= lo order by rank, at, lo"};

TakenRange read_taken(const Row& row) {
  return {.range = {row.integer(1), row.integer(2)},
          .attempt = row.small(3),
          .is_recurring = row.boolean(4),
          .rank = row.integer(5),
          .has_rest = row.boolean(6)};
}

}  // namespace

std::size_t send_take_head(Transaction& transaction, const HeadWish& wish) {
  const ClaimWish& claim = *wish.wish;
  return transaction.send(
      kTakeHead, Params::of(std::int32_t{wish.queue}, wish.floor, Floors::kNone, wish.most, std::int64_t{claim.max},
                            claim.owner, claim.token, claim.lease, wish.fresh));
}

std::optional<TakenHead> read_taken_head(const Transaction& transaction, std::size_t ticket) {
  const Rows& rows = transaction.rows(ticket);
  if (rows.empty()) return std::nullopt;
  TakenHead taken{.now = rows[0].instant(0), .ranges = {}};
  taken.ranges.reserve(static_cast<std::size_t>(rows.size()));
  for (const Row row : rows) taken.ranges.push_back(read_taken(row));
  return taken;
}

}  // namespace horae::postgres
