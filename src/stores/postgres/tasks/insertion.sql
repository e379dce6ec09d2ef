-- The ranges in which new tasks begin.

-- name: make_ready
-- Those of the ranges that are due. The rank comes from the queue's ageing and the store's clock (src/model/rank.h).
-- Without the row of the queue there is no rank, and the statement fails: no task is stored where no claim finds it.
-- Values: of each range
-- Index: queue_pkey
-- Locks: the new rows
insert into ready (lo, hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring)
select d.lo, d.hi, d.queue, q.base + q.rate * (s.second - q.since) - d.priority, s.second, horae_now(), 0, 0,
       d.max_attempts, d.recurring
  from (select floor(extract(epoch from horae_now()))::bigint as second) as s,
       (values (:lo, :hi, :queue, :priority, :max_attempts, :recurring, :run_at))
       as d(lo, hi, queue, priority, max_attempts, recurring, run_at)
  left join queue as q on q.no = d.queue
 where d.run_at is null or d.run_at <= horae_now()
returning queue, rank;

-- name: make_running
-- The rank is for the case that it becomes ready again.
-- Values: of each task, with its lease
-- Index: queue_pkey
-- Locks: the new rows
insert into running (lo, hi, queue, rank, at, attempt, tries, owner, token, length, started_at, expires, max_attempts,
                     recurring)
select d.lo, d.lo, d.queue, q.base + q.rate * (s.second - q.since) - d.priority, s.second, 1, 0, d.owner, d.token,
       d.length, horae_now(), horae_now() + (d.length + 999) / 1000 * interval '1 microsecond', d.max_attempts,
       d.recurring
  from (select floor(extract(epoch from horae_now()))::bigint as second) as s,
       (values (:lo, :queue, :priority, :max_attempts, :recurring, :owner, :token, :length))
       as d(lo, queue, priority, max_attempts, recurring, owner, token, length)
  left join queue as q on q.no = d.queue;

-- name: make_scheduled
-- Those of the ranges that are due later. Without the row of the queue the statement fails, as make_ready.
-- Values: of each range
-- Index: queue_pkey
-- Locks: the new rows
insert into scheduled (lo, hi, due, queue, priority, updated_at, attempt, tries, max_attempts, recurring)
select d.lo, d.hi, d.run_at, q.no, d.priority, horae_now(), 0, 0, d.max_attempts, d.recurring
  from (values (:lo, :hi, :queue, :priority, :max_attempts, :recurring, :run_at))
       as d(lo, hi, queue, priority, max_attempts, recurring, run_at)
  left join queue as q on q.no = d.queue
 where d.run_at > horae_now()
returning lo, hi;
