-- What all transactions share: queues with their counts, and the switch of the scheduler.

-- name: writer_queue_by_name
-- ?1 text: name
-- Index: that of the names
select no, base, rate, since, paused
  from queue
 where name = ?1;

-- name: writer_queue_by_number
-- ?1 integer: queue
-- Index: the primary key
select no, base, rate, since, paused
  from queue
 where no = ?1;

-- name: writer_count_queues
-- Index: the smallest there is; all of it is read, once for each new queue
select count(*)
  from queue;

-- name: writer_make_queue
-- ?1 text: name
-- ?2 integer: rate of ageing
-- ?3 integer: retention, ns
-- ?4 text: token on whose account it is made, or null
-- ?5 integer: now, µs
-- Index: the primary key, and that of the names
insert into queue (name, paused, base, rate, since, retention, made_by, made_at)
values (?1, 0, 0, ?2, 0, ?3, ?4, ?5);

-- name: writer_count_made_by
-- ?1 text: token
-- Index: none; all queues are read, once for each new queue
select count(*)
  from queue
 where made_by = ?1;

-- name: writer_add_counts
-- ?1, ?2, ?3, ?4, ?5, ?6 integer: changes of the counts, in the order of the states
-- ?7 integer: queue
-- Index: the primary key
update queue
   set scheduled = scheduled + ?1,
       ready = ready + ?2,
       running = running + ?3,
       completed = completed + ?4,
       aborted = aborted + ?5,
       cancelled = cancelled + ?6
 where no = ?7;

-- name: writer_stopped
-- Index: none, the table has one row
select stopped
  from control;

-- name: writer_high_number
-- The highest task number that was ever given.
-- Index: the primary key of task, at its end
select max(high_number, (select ifnull(max(number), 0) from task))
  from control;
