-- Removal of finished tasks after their retention.

-- name: allow_bitmaps
-- For statements that look for old ends: finished_time, the index for that, supports bitmap scans only, which sessions
-- otherwise do without (connection.sql).
-- Index: none
-- Locks: none
select set_config('enable_bitmapscan', 'on', true);

-- name: forbid_bitmaps
-- Index: none
-- Locks: none
select set_config('enable_bitmapscan', 'off', true);

-- name: purge_alone
-- Two purges that each took a part of a range would both leave its row of the trail to the other one.
-- Index: none
-- Locks: an advisory lock, so that one purge runs at a time
select pg_advisory_xact_lock(7205759403792795);

-- name: retention
-- Index: none, the table is small
-- Locks: none
select horae_now(), min(retention)
  from queue;

-- name: lock_purgeable
-- $1 bigint: how many ranges at most
-- $2 timestamptz: none that finished later is purgeable in any queue
-- $3 bigint: delay beyond the retention, ns
-- Index: finished_time finds the blocks that may hold some; queue_pkey
-- Locks: the ranges; it skips those that are locked
select f.lo, f.hi, f.queue, f.state
  from finished as f
  join queue as q on q.no = f.queue
 where f.finished_at < $2::timestamptz
   and f.finished_at < (select horae_now()) - (q.retention + $3::bigint + 999) / 1000 * interval '1 microsecond'
 order by f.finished_at, f.lo
 limit $1::bigint
   for update of f skip locked;

-- name: lock_finished_of_queue
-- $1 integer: the queue
-- $2 bigint: how many ranges at most
-- Index: finished_queue
-- Locks: the ranges; it skips those that are locked
select f.lo, f.hi, f.queue, f.state
  from finished as f
 where f.queue = $1::integer
 order by f.lo + 0
 limit $2::bigint
   for update of f skip locked;

-- name: delete_finished
-- $1 bigint[]: first numbers of ranges
-- Index: finished_pkey
-- Locks: the ranges, which are locked already
delete from finished
 where lo = any($1::bigint[]);

-- name: cut_finished
-- $1 bigint: first number of the range
-- $2 bigint: first number of what is left of it
-- Index: finished_pkey
-- Locks: the range, which is locked already
update finished
   set lo = $2::bigint,
       results = results[$2::bigint - lo + 1:]
 where lo = $1::bigint;

-- name: delete_tasks
-- $1 bigint[]: first numbers of ranges
-- $2 bigint[]: their last numbers
-- Index: task_pkey
-- Locks: the rows that it deletes
delete from task
 using unnest($1::bigint[], $2::bigint[]) as r(lo, hi)
 where number >= r.lo and number <= r.hi
returning number, id, queue, key;

-- name: delete_keys
-- $1 integer[]: queues
-- $2 text[]: keys
-- $3 bigint[]: numbers
-- Index: task_key_pkey
-- Locks: the rows that it deletes
delete from task_key
 using unnest($1::integer[], $2::text[], $3::bigint[]) as d(queue, key, number)
 where task_key.queue = d.queue and task_key.key = d.key and task_key.number = d.number;

-- name: delete_ids
-- $1 uuid[]: ids
-- $2 bigint[]: numbers
-- Index: task_id_pkey
-- Locks: the rows that it deletes
delete from task_id
 using unnest($1::uuid[], $2::bigint[]) as d(id, number)
 where task_id.id = d.id and task_id.number = d.number;

-- name: delete_turns
-- $1 bigint[]: numbers
-- Index: turn_pkey
-- Locks: the rows that it deletes
delete from turn
 where number = any($1::bigint[]);

-- name: delete_trail
-- A row that also holds entries of tasks that stay is kept until they are purged.
-- $1 bigint[]: first numbers of ranges
-- $2 bigint[]: their last numbers
-- Index: trail_pkey, task_pkey
-- Locks: the rows that it deletes
delete from trail
 using unnest($1::bigint[], $2::bigint[]) as r(lo, hi)
 where trail.lo > r.lo - 64
   and trail.lo <= r.hi
   and trail.hi >= r.lo
   and not exists (select from task where task.number >= trail.lo and task.number <= trail.hi);

-- name: forget_tokens
-- Tokens under which something is leased stay.
-- $1 bigint: how long a token is kept, ns
-- $2 bigint: how many at most
-- Index: claim_token_age, running_pkey, claim_token_pkey
-- Locks: the rows that it deletes
delete from claim_token
 where token = any(array(
         select c.token
           from claim_token as c
          where c.claimed_at < (select horae_now()) - $1::bigint / 1000 * interval '1 microsecond'
            and not exists (
              select
                from running
               where running.lo >= c.lo and running.lo <= c.hi and running.token = c.token)
          order by c.claimed_at
          limit $2::bigint));

-- name: has_old_tokens
-- $1 bigint: how long a token is kept, ns
-- Index: claim_token_age, running_pkey
-- Locks: none
select exists (
         select
           from claim_token as c
          where c.claimed_at < (select horae_now()) - $1::bigint / 1000 * interval '1 microsecond'
            and not exists (
              select
                from running
               where running.lo >= c.lo and running.lo <= c.hi and running.token = c.token));

-- name: uncount
-- $1 integer[]: queues
-- $2 smallint[]: states
-- $3 bigint[]: differences
-- Index: none
-- Locks: the new rows
insert into tally
select *
  from unnest($1::integer[], $2::smallint[], $3::bigint[]);

-- name: old_days
-- $1 bigint: the first day that is in use
-- Index: day_pkey
-- Locks: none
select no
  from day
 where no < $1::bigint
 order by no;

-- name: drop_day
-- $1 bigint: the day
-- Index: see horae_drop_day() in migrations/0001_tasks.sql
-- Locks: an advisory lock; at last the partitions of the day and, for a moment, their parents in access exclusive mode
select horae_drop_day($1::bigint);

-- name: has_tasks
-- $1 bigint: the first number of a day
-- $2 bigint: the last one
-- Index: task_pkey
-- Locks: none
select exists (select from task where number >= $1::bigint and number <= $2::bigint);
