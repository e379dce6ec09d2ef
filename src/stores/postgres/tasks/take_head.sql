-- The claim of one worker from one queue.

-- name: take_head
-- Reads the head of the queue under the conditions of lock_heads (claim.sql), puts the fresh ranges beside it, as
-- make_ready (insertion.sql) would have made them, and leases the first of both. `upto` is the last number that the wish
-- gets of a range; below its first one if it gets none. If all ranges that it was to look at were used up, and there may
-- be more, nothing is taken. If a write changes another number of rows than it must, the division fails. Ranges are
-- deleted by their ctid, for a ready one is locked here and never updated. The number 0 belongs to no task and fills the
-- list of fresh ones up. The leases begin when the head is locked: `cut` reads the clock with its first row, for which it
-- has to know all of the head.
-- $1 integer: the queue
-- $2 bigint: its floor
-- $3 bigint: no floor, for a queue without ageing
-- $4 bigint: how many ranges to look at
-- $5 bigint: how many tasks to take
-- $6 text: owner
-- $7 uuid: token
-- $8 bigint: length of the lease, ns
-- $9 smallint: the highest priority of tasks that this transaction made ready, or null
-- Values: the fresh ranges
-- Index: queue_pkey, ready_order; ready by ctid
-- Locks: the ranges at the head; it skips those that are locked
with fresh(lo, hi, priority, max_attempts, recurring) as (
  values (:lo, :hi, :priority, :max_attempts, :recurring)
), wished as materialized (
  select q.no,
         q.rate,
         q.paused or coalesce((select stopped from control), true) as closed,
         s.second,
         q.base + q.rate * (s.second - q.since) as rank_of_zero
    from queue as q,
         (select floor(extract(epoch from horae_now()))::bigint as second) as s
   where q.no = $1::integer
), head as materialized (
  select place, lo, hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring, run_at, ended_event,
         ended_owner
    from wished
   cross join lateral (
           select *, ctid as place
             from ready
            where ready.queue = wished.no
              and ready.rank >= case wished.rate
                    when 0 then $3::bigint
                    else least($2::bigint, wished.rank_of_zero - $9::smallint)
                  end
            order by ready.queue, ready.rank, ready.at, ready.lo + 0
            limit $4::bigint
              for update skip locked) as of_queue
   where not wished.closed
  union all
  select null, lo, hi, no, rank_of_zero - priority, second, (select horae_now()), 0, 0, max_attempts, recurring, null, null, null
    from fresh
    left join wished on true
   where lo > 0
), cut as materialized (
  select *,
         case
           when (select closed from wished)
             or (select count(*) = $4::bigint and sum((hi - lo + 1)::integer) < $5::bigint
                   from head
                  where place is not null)
             then lo - 1
           else least(hi, hi + $5::bigint - sum((hi - lo + 1)::integer) over (order by rank, at, lo))
         end as upto,
         (select horae_now()) as now
    from head
), gone as (
  delete from ready
   where ctid = any(array(select place from cut where upto >= lo and place is not null))
  returning 1
), rest as (
  insert into ready (lo, hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring, run_at, ended_event,
                     ended_owner)
  select greatest(lo, upto + 1), hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring, run_at,
         ended_event, ended_owner
    from cut
   where upto < hi and (upto >= lo or place is null)
  returning 1
), taken as (
  insert into running (lo, hi, queue, rank, at, attempt, tries, owner, token, length, started_at, expires, max_attempts,
                       recurring, run_at, ended_event, ended_owner)
  select lo, upto, queue, rank, at, attempt + 1, tries, $6::text, $7::uuid, $8::bigint, now,
         now + ($8::bigint + 999) / 1000 * interval '1 microsecond', max_attempts, recurring, run_at, ended_event,
         ended_owner
    from cut
   where upto >= lo
  returning 1
), wrong as (
  select (select count(*) from gone) <> count(*) filter (where upto >= lo and place is not null)
      or (select count(*) from rest) <> count(*) filter (where upto < hi and (upto >= lo or place is null))
      or (select count(*) from taken) <> count(*) filter (where upto >= lo) as rows
    from cut
)
select now, lo, upto, attempt + 1, recurring is not null, rank, at, upto < hi,
       1 / (not (select rows from wrong))::integer
  from cut
 where upto >= lo or place is null;
