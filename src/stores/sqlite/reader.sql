-- Reading tasks, in read transactions.

-- name: reader_number_of_id
-- ?1 blob: id
-- Index: that of the ids alone answers this
select number
  from task
 where id = ?1;

-- name: reader_number_of_key
-- ?1 text: name of the queue
-- ?2 text: key
-- Index: task_key, and that of the names of queues
select number
  from task
 where queue = (select no from queue where name = ?1) and key = ?2;

-- name: reader_checkpoint
-- ?1 integer: task
-- Index: the primary key
select json
  from checkpoint
 where number = ?1;

-- name: reader_errors
-- ?1 integer: task
-- Index: the primary key
select code, args, description
  from error
 where number = ?1
 order by place;

-- name: reader_trail
-- ?1 integer: task
-- Index: the primary key
select kind, attempt, worker, started_at, at, progress, detail
  from trail
 where number = ?1
 order by place;

-- Pages of lists: from a place on, in the order of the list. Each follows its index, so that a page reads no more than it
-- shows or examines.

-- name: reader_scheduled
-- ?1, ?2 integer: run_at and number of the last place
-- ?3 integer: how many
-- Index: life_due
select run_at, 0, number
  from life
 where state = 0 and (run_at, number) > (?1, ?2)
 order by run_at, number
 limit ?3;

-- name: reader_ready
-- ?1 integer: queue
-- ?2, ?3, ?4 integer: rank, second and number of the last place
-- ?5 integer: how many
-- Index: life_ready
select rank, ready_second, number
  from life
 where state = 1 and queue = ?1 and (rank, ready_second, number) > (?2, ?3, ?4)
 order by rank, ready_second, number
 limit ?5;

-- name: reader_running
-- ?1, ?2 integer: started_at and number of the last place
-- ?3 integer: how many
-- Index: life_lease finds the running tasks; they are sorted, since they are few
select started_at, 0, number
  from life
 where state = 2 and (started_at, number) > (?1, ?2)
 order by started_at, number
 limit ?3;

-- name: reader_newest
-- ?1 integer: number of the last place
-- ?2 integer: how many
-- Index: the primary key
select 0, 0, number
  from life
 where number < ?1
 order by number desc
 limit ?2;

-- name: reader_queues
-- One queue, or all of them.
-- ?1 text: name; null: all
-- Index: the primary key; the queues are few
select no, name
  from queue
 where name = ?1 or ?1 is null
 order by no;

-- name: reader_of_token
-- The tasks that are leased under a claim's token.
-- ?1 blob: token
-- Index: life_lease. None has the token: the running tasks are few. But there are many other tasks, which the order by
-- number would tempt SQLite to read.
select life.number, id, queue.name, priority, spec, attempt, lease_expires, has_checkpoint
  from life indexed by life_lease
  join task on task.number = life.number
  join queue on queue.no = life.queue
 where state = 2 and token = ?1
 order by life.number;

-- name: reader_has_served
-- ?1 blob: token
-- Index: the primary key
select 1
  from claim_token
 where token = ?1;
