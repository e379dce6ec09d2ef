-- Claims of several wishes or queues.

-- name: lock_heads
-- The heads of the queues in the order of claims; a queue in which nothing is ready answers one row of nulls, and so does
-- one that has ended: its own number is null, too. Pause and stop are conditions of the statement itself.
-- $1 integer[]: queues
-- $2 bigint[]: the floor of each
-- $3 bigint[]: how many ranges of each at most
-- $4 bigint: no floor, for queues without ageing
-- $5 smallint[]: the highest priority of tasks that this transaction made ready, or null: the floor may lie above them
-- Index: queue_pkey, ready_order
-- Locks: the ranges that it returns; it skips those that are locked
select horae_now(), q.no, q.base, q.rate, q.since, r.lo, r.hi, r.queue, r.attempt, r.tries, r.max_attempts, r.recurring,
       r.run_at, r.ended_event, r.ended_owner, r.rank, r.at, r.updated_at, w.no
  from unnest($1::integer[], $2::bigint[], $3::bigint[], $5::smallint[]) as w(no, floor, most, fresh)
  left join queue as q on q.no = w.no
  left join lateral (
         select *
           from ready
          where ready.queue = q.no
            and ready.rank >= case q.rate
                  when 0 then $4::bigint
                  else least(w.floor,
                             q.base + q.rate * (floor(extract(epoch from (select horae_now())))::bigint - q.since) - w.fresh)
                end
          order by ready.queue, ready.rank, ready.at, ready.lo + 0
          limit w.most
            for update skip locked) as r on true
 where not (select stopped from control)
   and q.paused is not true;

-- name: wait_for_others
-- Waits until a transaction that holds the head of one of the queues has ended.
-- $1 integer[]: queues
-- Index: queue_pkey, ready_order
-- Locks: the first range of a queue
select r.lo
  from unnest($1::integer[]) as w(no)
  join queue as q on q.no = w.no and not q.paused
 cross join lateral (
         select lo
           from ready
          where ready.queue = q.no
          order by ready.queue, ready.rank, ready.at, ready.lo + 0
          limit 1
            for update) as r
 where not (select stopped from control)
 limit 1;

-- name: still_open
-- Before what was shared out is leased: the node may have been paused since it looked. If a queue was paused meanwhile, or
-- the scheduler stopped, the division fails: Failure::unmet().
-- $1 integer[]: queues
-- Index: queue_pkey
-- Locks: none
select 1 / (not stopped and not exists (select from queue where no = any($1::integer[]) and paused))::integer
  from control;

-- name: is_any_ready
-- $1 integer[]: queues
-- Index: ready_order
-- Locks: none
select exists (
         select
           from unnest($1::integer[]) as w(no)
           join ready on ready.queue = w.no);
