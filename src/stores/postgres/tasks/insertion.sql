-- The ranges in which new tasks begin.

-- name: make_ready
-- Those that are due at once. The rank comes from the queue's ageing and the store's clock (src/model/rank.h).
-- Without the row of the queue there is no rank, and the statement fails: no task is stored where no claim finds it.
-- Values: of each range
-- Index: queue_pkey
-- Locks: the new rows
insert into ready (lo, hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring)
select d.lo, d.hi, d.queue, q.base + q.rate * (s.second - q.since) - d.priority, s.second, c.now, 0, 0, d.max_attempts,
       d.recurring
  from (select horae_now() as now) as c
 cross join lateral (select floor(extract(epoch from c.now))::bigint as second) as s
 cross join
       (values (:lo, :hi, :queue, :priority, :max_attempts, :recurring))
       as d(lo, hi, queue, priority, max_attempts, recurring)
  left join queue as q on q.no = d.queue
returning queue, rank;

-- name: make_ready_or_scheduled
-- Those with a time, which has come or not: one reading of the clock decides, so that each of them gets into one of the
-- tables. Otherwise as make_ready. Answers those that were stored, ready ones with their rank.
-- Values: of each range
-- Index: queue_pkey
-- Locks: the new rows
with told(lo, hi, queue, priority, max_attempts, recurring, run_at) as (
  values (:lo, :hi, :queue, :priority, :max_attempts, :recurring, :run_at)
), clock as materialized (
  select horae_now() as now
), placed as materialized (
  select d.*, q.no, q.base, q.rate, q.since, c.now, floor(extract(epoch from c.now))::bigint as second
    from clock as c
   cross join told as d
    left join queue as q on q.no = d.queue
), later as (
  insert into scheduled (lo, hi, due, queue, priority, updated_at, attempt, tries, max_attempts, recurring)
  select lo, hi, run_at, no, priority, now, 0, 0, max_attempts, recurring
    from placed
   where run_at > now
  returning lo
), due as (
  insert into ready (lo, hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring)
  select lo, hi, queue, base + rate * (second - since) - priority, second, now, 0, 0, max_attempts, recurring
    from placed
   where run_at <= now
  returning lo
)
select lo, hi, queue, case when run_at <= now then base + rate * (second - since) - priority end
  from placed
 where lo in (select lo from later union all select lo from due);

-- name: make_running
-- The rank is for the case that it becomes ready again.
-- Values: of each task, with its lease
-- Index: queue_pkey
-- Locks: the new rows
insert into running (lo, hi, queue, rank, at, attempt, tries, owner, token, length, started_at, expires, max_attempts,
                     recurring)
select d.lo, d.lo, d.queue, q.base + q.rate * (s.second - q.since) - d.priority, s.second, 1, 0, d.owner, d.token,
       d.length, c.now, c.now + (d.length + 999) / 1000 * interval '1 microsecond', d.max_attempts, d.recurring
  from (select horae_now() as now) as c
 cross join lateral (select floor(extract(epoch from c.now))::bigint as second) as s
 cross join
       (values (:lo, :queue, :priority, :max_attempts, :recurring, :owner, :token, :length))
       as d(lo, queue, priority, max_attempts, recurring, owner, token, length)
  left join queue as q on q.no = d.queue;
