-- Cancellation. A task may move from one table to the next while it is looked for: each of these statements waits for
-- the transaction that holds its range.

-- name: cancel_lock_ready
-- $1 bigint[]: numbers, ascending
-- Index: ready_pkey
-- Locks: the ranges, in the order of their numbers
select r.lo, r.hi, r.queue, r.attempt, r.tries, r.max_attempts, r.recurring, r.run_at, r.ended_event, r.ended_owner,
       r.rank, r.at, r.updated_at
  from unnest($1::bigint[]) as w(number)
 cross join lateral (
         select *
           from ready
          where ready.lo > w.number - 64 and ready.lo <= w.number and ready.hi >= w.number
          order by ready.lo
            for update) as r;

-- name: cancel_lock_running
-- $1 bigint[]: numbers, ascending
-- Index: running_pkey
-- Locks: the ranges, in the order of their numbers
select l.lo, l.hi, l.queue, l.attempt, l.tries, l.max_attempts, l.recurring, l.run_at, l.ended_event, l.ended_owner,
       l.rank, l.at, l.owner, l.token, l.length, l.started_at, l.expires
  from unnest($1::bigint[]) as w(number)
 cross join lateral (
         select *
           from running
          where running.lo > w.number - 64 and running.lo <= w.number and running.hi >= w.number
          order by running.lo
            for update) as l;

-- name: cancel_lock_scheduled
-- $1 bigint[]: numbers, ascending
-- Index: scheduled_pkey
-- Locks: the ranges, in the order of their numbers
select s.lo, s.hi, s.queue, s.attempt, s.tries, s.max_attempts, s.recurring, null::timestamptz, s.ended_event,
       s.ended_owner, s.due, s.priority, s.updated_at
  from unnest($1::bigint[]) as w(number)
 cross join lateral (
         select *
           from scheduled
          where scheduled.lo > w.number - 64 and scheduled.lo <= w.number and scheduled.hi >= w.number
          order by scheduled.lo
            for update) as s;

-- name: cancel_lock_all
-- For a task that moved each time it was looked for.
-- Index: none
-- Locks: the three tables in share row exclusive mode
lock table ready, running, scheduled in share row exclusive mode;
