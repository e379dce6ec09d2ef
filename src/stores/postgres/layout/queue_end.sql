-- The end of queues.

-- name: queue_end_patience
-- Bounds the wait of queue_end_lock, behind which all submissions queue up.
-- Index: none
-- Locks: none
select set_config('lock_timeout', '500ms', true);

-- name: queue_end_lock
-- A transaction that stores tasks writes into the table task before it reads the row of their queue, and so holds this
-- table in a mode that this one excludes. So this waits until all of them have ended, and the next statement sees their
-- tasks; those that come later wait, and then see that the queue is gone. Nothing else brings a task into a queue:
-- transitions move a task from table to table, and one snapshot finds it in one of them. Claims, settlements, readers
-- and dumps do not wait for this, and this does not wait for them.
-- Index: none
-- Locks: the table task, without its partitions, in share mode
lock table only task in share mode;

-- name: queue_end
-- `offset 0` keeps the planner from joining all of ready and finished to a few queues.
-- $1 integer[]: queues
-- $2 boolean: only those that were never configured
-- Index: queue_pkey, ready_order, finished_queue; reads all of scheduled and running
-- Locks: the rows that it deletes; waits for a transaction that configures one
delete from queue as q
 where q.no = any($1::integer[])
   and not (q.configured and $2::boolean)
   and not exists (select from scheduled where scheduled.queue = q.no)
   and not exists (select from running where running.queue = q.no)
   and not exists (select from ready where ready.queue = q.no offset 0)
   and not exists (select from finished where finished.queue = q.no offset 0)
returning q.no;

-- name: queue_forgettable
-- Candidates for queue_end, which checks them again under its lock. The tally, where finished tasks are counted, is small
-- after it was folded.
-- $1 bigint: since when it must exist, ns
-- $2 bigint: how many at most
-- Index: ready_order; reads all of queue, scheduled, running and tally
-- Locks: none
select q.no
  from queue as q
  left join (
    select queue, sum(n) as n
      from tally
     group by queue) as finished_tasks on finished_tasks.queue = q.no
 where not q.configured
   and q.made_at < (select horae_now()) - $1::bigint / 1000 * interval '1 microsecond'
   and coalesce(finished_tasks.n, 0) = 0
   and not exists (select from scheduled where scheduled.queue = q.no)
   and not exists (select from running where running.queue = q.no)
   and not exists (select from ready where ready.queue = q.no offset 0)
 order by q.no
 limit $2::bigint;
