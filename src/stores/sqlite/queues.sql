-- Settings and counts of queues, the switch of the scheduler, the numbers of workers.

-- name: queues_all
-- Index: that of the names
select no, name, paused, rate, retention, scheduled, ready, running, completed, aborted, cancelled
  from queue
 order by name;

-- name: queues_oldest
-- ?1 integer: queue
-- Index: life_ready. All ready tasks of the queue are read: people and metrics need this, transitions do not.
select min(ready_second)
  from life
 where state = 1 and queue = ?1;

-- name: queues_settings
-- ?1 text: name
-- Index: that of the names
select paused, rate, retention
  from queue
 where name = ?1;

-- name: queues_set_paused
-- ?1 integer: 1 if paused
-- ?2 integer: queue
-- Index: the primary key
update queue
   set paused = ?1
 where no = ?2;

-- name: queues_set_ageing
-- ?1, ?2, ?3 integer: base, rate and since of src/model/rank.h
-- ?4 integer: queue
-- Index: the primary key
update queue
   set base = ?1,
       rate = ?2,
       since = ?3
 where no = ?4;

-- name: queues_set_retention
-- ?1 integer: retention, ns
-- ?2 integer: queue
-- Index: the primary key
update queue
   set retention = ?1
 where no = ?2;

-- name: queues_set_configured
-- ?1 integer: queue
-- Index: the primary key
update queue
   set configured = 1
 where no = ?1;

-- name: queues_has_tasks
-- ?1 integer: queue
-- Index: the primary key
select scheduled + ready + running > 0
  from queue
 where no = ?1;

-- name: queues_remove
-- ?1 integer: queue
-- Index: the primary key
delete from queue
 where no = ?1 and scheduled + ready + running + completed + aborted + cancelled = 0;

-- name: queues_set_stopped
-- ?1 integer: 1 if the scheduler is stopped
-- Index: none, the table has one row
update control
   set stopped = ?1
 where stopped <> ?1;

-- name: queues_take_worker
-- The number of a new worker.
-- Index: none, the table has one row
update control
   set next_worker = next_worker + 1
returning next_worker - 1;
