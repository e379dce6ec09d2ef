-- The state of a task, and its trail.

-- name: life_number
-- ?1 blob: id
-- Index: that of the ids alone answers this; the row of the task is not read
select number
  from task
 where id = ?1;

-- name: life_by_number
-- ?1 integer: task
-- Index: the primary key
select number, queue, state, attempt, tries, progress, owner, started_at, lease_expires, ended_event, ended_owner,
       recurring, lease
  from life
 where number = ?1;

-- name: life_queue_name
-- ?1 integer: queue
-- Index: the primary key
select name
  from queue
 where no = ?1;

-- name: life_rules
-- ?1 integer: task
-- Index: the primary key
select max_attempts, retry_kind, retry_delay, retry_factor, retry_cap, retry_jitter
  from task
 where number = ?1;

-- name: trail_insert
-- Appends a row.
-- ?1 integer: task
-- ?2 integer: kind
-- ?3 integer: attempt
-- ?4 text: worker
-- ?5 integer: beginning of the attempt, µs; null if another row has it
-- ?6 integer: time, µs
-- ?7 real: progress
-- ?8 text: detail
-- Index: the primary key
insert into trail (number, place, kind, attempt, worker, started_at, at, progress, detail)
select ?1, ifnull(max(place), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
  from trail
 where number = ?1;

-- name: trail_prune
-- Takes the row after the first ones once there are too many: the first and the newest stay. Returns whether it also
-- had the assignment of its attempt.
-- ?1 integer: task
-- ?2 integer: how many rows may stay
-- ?3 integer: how many of them are the first ones
-- ?4 integer: kind of a row that has nothing but an assignment
-- Index: the primary key
delete from trail
 where number = ?1
   and (select count(*) from trail where number = ?1) > ?2
   and place = (select place from trail where number = ?1 order by place limit 1 offset ?3)
returning started_at is not null and kind <> ?4;

-- name: trail_count_omitted
-- ?1 integer: how many entries of the history are no longer in the trail
-- ?2 integer: task
-- Index: the primary key
update life
   set trail_omitted = trail_omitted + ?1
 where number = ?2;

-- name: trail_rows
-- What late results need to know of the trails of their tasks. The details are not read.
-- ?1 text: the tasks, as an array in JSON
-- Index: the primary key, for the rows of each task
select t.number, t.place, t.kind, t.attempt, t.worker, t.started_at is not null
  from json_each(?1) as w
 cross join trail as t on t.number = w.value
 order by t.number, t.place;

-- name: trail_append
-- A row at a place that is known to be free.
-- ?1 integer: task
-- ?2 integer: place
-- ?3 integer: kind
-- ?4 integer: attempt
-- ?5 text: worker
-- ?6 integer: beginning of the attempt, µs; null if another row has it
-- ?7 integer: time, µs
-- ?8 text: detail
-- Index: the primary key
insert into trail (number, place, kind, attempt, worker, started_at, at, progress, detail)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, null, ?8);

-- name: trail_drop
-- ?1 integer: task
-- ?2 integer: the first place that leaves
-- ?3 integer: the last one
-- Index: the primary key
delete from trail
 where number = ?1 and place >= ?2 and place <= ?3;

-- name: trail_find_assignment
-- A row that has an assignment, its own or that of the attempt that it ends, has its time.
-- ?1 integer: task
-- ?2 integer: attempt
-- Index: the primary key, for the rows of the task
select 1
  from trail
 where number = ?1 and attempt = ?2 and started_at is not null;

-- name: trail_drop_assignment
-- ?1 integer: task
-- ?2 integer: kind of an assignment
-- ?3 integer: attempt
-- Index: the primary key, for the rows of the task
delete from trail
 where number = ?1 and kind = ?2 and attempt = ?3;
