-- Tasks by id, by key, in lists.

-- name: trail
-- $1 bigint[]: numbers
-- Index: trail_pkey
-- Locks: none
select w.number, t.kind, t.attempt, t.worker, t.started_at, t.at, t.progress, t.detail
  from unnest($1::bigint[]) as w(number)
  join trail as t on t.lo > w.number - 64 and t.lo <= w.number and t.hi >= w.number
 order by w.number, t.no;

-- name: find_key
-- $1 text: name of the queue
-- $2 text: key
-- Index: queue_name_key, task_key_pkey
-- Locks: none
select k.number
  from task_key as k
  join queue as q on q.no = k.queue
 where q.name = $1::text and k.key = $2::text;

-- ---- Lists ----

-- name: list_now
-- Index: none
-- Locks: none
select horae_now();

-- name: list_queues
-- Index: none, all rows
-- Locks: none
select no, name
  from queue;

-- The ranges of a page, in the order of the list from a position on; the first one may begin before it. Each statement
-- follows an index or sorts a small table, and comes in three forms: for all queues, for one, for those of a scope. Small
-- tables and finished tasks are filtered by queue.

-- name: list_scheduled
-- $1 timestamptz: due time of the position
-- $2 bigint: its number
-- $3 bigint: where the range that holds it begins at the earliest
-- $4 bigint: how many ranges at most
-- Index: scheduled_due from the position on, also among many with one due time
-- Locks: none
select due, 0::bigint, lo, hi
  from scheduled
 where (due, lo + 0) >= ($1::timestamptz, $3::bigint)
   and (due, hi) > ($1::timestamptz, $2::bigint)
 order by due, lo + 0
 limit $4::bigint;

-- name: list_scheduled_of_queue
-- $1 timestamptz: due time of the position
-- $2 bigint: its number
-- $3 bigint: where the range that holds it begins at the earliest
-- $4 bigint: how many ranges at most
-- $5 text: name of the queue
-- Index: scheduled_due from the position on
-- Locks: none
select due, 0::bigint, lo, hi
  from scheduled
 where (due, lo + 0) >= ($1::timestamptz, $3::bigint)
   and (due, hi) > ($1::timestamptz, $2::bigint)
   and queue = (select no from queue where name = $5::text)
 order by due, lo + 0
 limit $4::bigint;

-- name: list_scheduled_of_scope
-- $1 timestamptz: due time of the position
-- $2 bigint: its number
-- $3 bigint: where the range that holds it begins at the earliest
-- $4 bigint: how many ranges at most
-- $5 integer[]: queues
-- Index: scheduled_due from the position on
-- Locks: none
select due, 0::bigint, lo, hi
  from scheduled
 where (due, lo + 0) >= ($1::timestamptz, $3::bigint)
   and (due, hi) > ($1::timestamptz, $2::bigint)
   and queue = any($5::integer[])
 order by due, lo + 0
 limit $4::bigint;

-- name: list_ready
-- $1 bigint: rank of the position
-- $2 bigint: the second in which it became ready
-- $3 bigint: its number
-- $4 bigint: how many ranges at most
-- Index: none, sorts the table
-- Locks: none
select rank, at, lo, hi
  from ready
 where rank >= $1::bigint
   and (rank, at, hi) > ($1::bigint, $2::bigint, $3::bigint)
 order by rank, at, lo + 0
 limit $4::bigint;

-- name: list_ready_of_queue
-- $1 bigint: rank of the position
-- $2 bigint: the second in which it became ready
-- $3 bigint: its number
-- $4 bigint: how many ranges at most
-- $5 text: name of the queue
-- Index: ready_order
-- Locks: none
select rank, at, lo, hi
  from ready
 where rank >= $1::bigint
   and (rank, at, hi) > ($1::bigint, $2::bigint, $3::bigint)
   and queue = (select no from queue where name = $5::text)
 order by rank, at, lo + 0
 limit $4::bigint;

-- name: list_ready_of_scope
-- $1 bigint: rank of the position
-- $2 bigint: the second in which it became ready
-- $3 bigint: its number
-- $4 bigint: how many ranges at most
-- $5 integer[]: queues
-- Index: ready_order
-- Locks: none
select rank, at, lo, hi
  from ready
 where rank >= $1::bigint
   and (rank, at, hi) > ($1::bigint, $2::bigint, $3::bigint)
   and queue = any($5::integer[])
 order by rank, at, lo + 0
 limit $4::bigint;

-- name: list_running
-- $1 timestamptz: when the attempt of the position began
-- $2 bigint: its number
-- $3 bigint: how many ranges at most
-- Index: none, sorts the table
-- Locks: none
select started_at, 0::bigint, lo, hi
  from running
 where (started_at, hi) > ($1::timestamptz, $2::bigint)
 order by started_at, lo
 limit $3::bigint;

-- name: list_running_of_queue
-- $1 timestamptz: when the attempt of the position began
-- $2 bigint: its number
-- $3 bigint: how many ranges at most
-- $4 text: name of the queue
-- Index: none, sorts the table
-- Locks: none
select started_at, 0::bigint, lo, hi
  from running
 where (started_at, hi) > ($1::timestamptz, $2::bigint)
   and queue = (select no from queue where name = $4::text)
 order by started_at, lo
 limit $3::bigint;

-- name: list_running_of_scope
-- $1 timestamptz: when the attempt of the position began
-- $2 bigint: its number
-- $3 bigint: how many ranges at most
-- $4 integer[]: queues
-- Index: none, sorts the table
-- Locks: none
select started_at, 0::bigint, lo, hi
  from running
 where (started_at, hi) > ($1::timestamptz, $2::bigint)
   and queue = any($4::integer[])
 order by started_at, lo
 limit $3::bigint;

-- name: list_finished
-- $1 bigint: number of the position
-- $2 bigint: how many ranges at most
-- Index: finished_pkey
-- Locks: none
select 0::bigint, 0::bigint, lo, hi
  from finished
 where lo < $1::bigint
 order by lo desc
 limit $2::bigint;

-- name: list_finished_of_queue
-- $1 bigint: number of the position
-- $2 bigint: how many ranges at most
-- $3 text: name of the queue
-- Index: finished_queue
-- Locks: none
select 0::bigint, 0::bigint, lo, hi
  from finished
 where lo < $1::bigint
   and lo + 0 < $1::bigint
   and queue = (select no from queue where name = $3::text)
 order by lo + 0 desc
 limit $2::bigint;

-- name: list_finished_of_scope
-- $1 bigint: number of the position
-- $2 bigint: how many ranges at most
-- $3 integer[]: queues
-- Index: finished_pkey
-- Locks: none
select 0::bigint, 0::bigint, lo, hi
  from finished
 where lo < $1::bigint
   and queue = any($3::integer[])
 order by lo desc
 limit $2::bigint;

-- name: list_all
-- $1 bigint: number of the position
-- $2 bigint: how many at most
-- Index: task_pkey
-- Locks: none
select 0::bigint, 0::bigint, number, number
  from task
 where number < $1::bigint
 order by number desc
 limit $2::bigint;
