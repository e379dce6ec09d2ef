-- What owners report of their attempts.

-- name: lock_running
-- The running ranges with any of these numbers. All statements lock them in the order of their numbers, so that they
-- cannot deadlock. The clock is read for each range, once it is locked.
-- $1 bigint[]: first numbers of ranges
-- $2 bigint[]: their last numbers
-- Index: running_pkey
-- Locks: the ranges, in the order of their numbers
select l.lo, l.hi, l.queue, l.attempt, l.tries, l.max_attempts, l.recurring, l.run_at, l.ended_event, l.ended_owner,
       l.rank, l.at, l.owner, l.token, l.length, l.started_at, l.expires, horae_now()
  from unnest($1::bigint[], $2::bigint[]) as w(lo, hi)
 cross join lateral (
         select *
           from running
          where running.lo > w.lo - 64 and running.lo <= w.hi and running.hi >= w.lo
          order by running.lo
            for update) as l;

-- name: lock_all_running
-- For a task that moved each time it was looked for.
-- Index: none
-- Locks: the table running in share row exclusive mode
lock table running in share row exclusive mode;

-- name: ids
-- $1 bigint[]: first numbers of ranges
-- $2 bigint[]: their last numbers
-- $3 bigint: the lowest of them; with the next one it keeps the scan out of the partitions of other days
-- $4 bigint: the highest of them
-- Index: task_pkey
-- Locks: none
select t.number, t.id
  from unnest($1::bigint[], $2::bigint[]) as r(lo, hi)
 cross join lateral (
         select number, id
           from task
          where task.number >= r.lo and task.number <= r.hi and task.number >= $3::bigint and task.number <= $4::bigint
         offset 0) as t;

-- name: policies
-- $1 bigint[]: numbers
-- Index: task_pkey
-- Locks: none
select t.number, t.retry_kind, t.retry_delay, t.retry_factor, t.retry_cap, t.retry_jitter, t.priority
  from unnest($1::bigint[]) as w(number)
  join task as t on t.number = w.number;

-- name: progress
-- $1 bigint[]: numbers
-- Index: progress_pkey
-- Locks: none
select p.number, p.progress
  from unnest($1::bigint[]) as w(number)
  join progress as p on p.number = w.number
 where p.progress is not null;
