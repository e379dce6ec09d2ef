-- Queues and the scheduler's switch.

-- name: queues_now
-- Index: none
-- Locks: none
select horae_now(), (select count(*) from tally);

-- name: queues_all
-- Reads all ranges of tasks that have not finished: it is for people and metrics, not for transitions. Sums, which are
-- numeric, become bigint.
-- Index: none
-- Locks: none
select name, paused, rate, retention, scheduled, ready, running, completed, aborted, cancelled, oldest
  from queue
  left join (
    select queue, sum(hi - lo + 1)::bigint as scheduled
      from scheduled
     group by queue) as s on s.queue = no
  left join (
    select queue, sum(hi - lo + 1)::bigint as ready, min(at) as oldest
      from ready
     group by queue) as r on r.queue = no
  left join (
    select queue, sum(hi - lo + 1)::bigint as running
      from running
     group by queue) as l on l.queue = no
  left join (
    select queue,
           (sum(n) filter (where state = 3))::bigint as completed,
           (sum(n) filter (where state = 4))::bigint as aborted,
           (sum(n) filter (where state = 5))::bigint as cancelled
      from tally
     group by queue) as t on t.queue = no
 order by name collate "C";

-- name: queues_lock_row
-- A change is made upon what the one before it left: another one of the same queue waits here.
-- $1 integer: the queue
-- Index: queue_pkey
-- Locks: the row
select paused, base, rate, since, retention, horae_now()
  from queue
 where no = $1
   for update;

-- name: queues_change
-- $1 integer: the queue
-- $2 boolean: paused
-- $3 bigint: base of the ageing
-- $4 bigint: its rate
-- $5 bigint: the second since which it holds
-- $6 bigint: retention, ns
-- Index: queue_pkey
-- Locks: the row, which is locked already
update queue
   set paused = $2,
       base = $3,
       rate = $4,
       since = $5,
       retention = $6,
       configured = true
 where no = $1;

-- name: queues_has_tasks
-- $1 integer: the queue
-- Index: ready_order; reads all of scheduled and running
-- Locks: none
select exists (select from scheduled where queue = $1::integer)
    or exists (select from ready where queue = $1::integer offset 0)
    or exists (select from running where queue = $1::integer);

-- name: queues_set_stopped
-- $1 boolean: nothing is claimed
-- Index: none, the table has one row
-- Locks: the row of control
update control
   set stopped = $1
 where stopped <> $1;

-- name: queues_stopped
-- Index: none, the table has one row
-- Locks: none
select stopped
  from control;

-- name: queues_closed
-- Which of these queues, in this order, give no tasks because they are paused or the scheduler is stopped.
-- $1 text[]: names
-- Index: queue_name_key
-- Locks: none
select w.name
  from unnest($1::text[]) with ordinality as w(name, place)
 cross join control
 where control.stopped or exists (select from queue where queue.name = w.name and queue.paused)
 order by w.place;

-- name: queues_new_worker
-- Index: none
-- Locks: none
select nextval('worker_number');
