-- Schedules and their fires.

-- name: schedules_get
-- ?1 text: name
-- Index: the primary key
select name, paused, definition, version, created_at, updated_at, handled_until, next_at, tzdata, last_task
  from schedule
 where name = ?1;

-- name: schedules_list
-- ?1 text: the name before the first one
-- ?2 integer: how many
-- Index: the primary key, whose order this is
select name, paused, definition, version, created_at, updated_at, handled_until, next_at, tzdata, last_task
  from schedule
 where name > ?1
 order by name
 limit ?2;

-- name: schedules_due
-- The first one that is not due is among them: it says when to look again.
-- ?1 integer: how many
-- Index: schedule_due, whose order this is
select name, paused, definition, version, created_at, updated_at, handled_until, next_at, tzdata, last_task
  from schedule
 where next_at is not null
 order by next_at
 limit ?1;

-- name: schedules_count
-- Index: none, there are at most 10,000, and they are counted only when one is made
select count(*)
  from schedule;

-- name: schedules_insert
-- ?1 text: name
-- ?2 text: queue
-- ?3 text: definition
-- ?4 integer: whether it is paused
-- ?5 blob: version
-- ?6 integer: now, µs
-- ?7 integer: when to step first, µs; null if it is paused
-- Index: the primary key
insert into schedule (name, queue, definition, paused, version, created_at, updated_at, handled_until, next_at, tzdata,
                      last_task)
values (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?6, ?7, '', null);

-- name: schedules_update
-- The task of the last fire stays: an overlap is judged by it.
-- ?1 text: name
-- ?2 text: queue
-- ?3 text: definition
-- ?4 integer: whether it is paused
-- ?5 blob: version
-- ?6 integer: now, µs
-- ?7 integer: now, µs; null if it is paused
-- Index: the primary key
update schedule
   set queue = ?2, definition = ?3, paused = ?4, version = ?5, updated_at = ?6, handled_until = max(handled_until, ?6),
       next_at = max(handled_until, ?7), tzdata = ''
 where name = ?1;

-- name: schedules_step
-- Takes the schedule on, if it is still the one that was seen and the step lies in the past.
-- ?1 text: name
-- ?2 blob: version that was seen
-- ?3 integer: handled_until that was seen, µs
-- ?4 integer: until, µs
-- ?5 integer: when to step next, µs
-- ?6 text: version of the time zone database
-- ?7 integer: now, µs
-- Index: the primary key
update schedule
   set handled_until = ?4, next_at = ?5, tzdata = ?6
 where name = ?1 and version = ?2 and handled_until = ?3 and paused = 0 and ?4 <= ?7;

-- name: schedules_last_task
-- ?1 text: name
-- ?2 blob: task
-- Index: the primary key
update schedule
   set last_task = ?2
 where name = ?1;

-- name: schedules_task_state
-- ?1 text: name
-- Index: the primary keys, and that of the ids of tasks
select last_task, life.state
  from schedule
  join task on task.id = last_task
  join life using (number)
 where name = ?1;

-- name: schedules_remove
-- ?1 text: name
-- Index: the primary key
delete from schedule
 where name = ?1;

-- name: schedules_remove_fires
-- ?1 text: name
-- Index: the primary key, for those of the schedule
delete from schedule_fire
 where schedule = ?1;

-- name: schedules_recompute
-- ?1 text: version of the time zone database
-- ?2 integer: now, µs
-- Index: none: it runs once for each start of a node
update schedule
   set next_at = max(handled_until, ?2)
 where next_at > max(handled_until, ?2) and tzdata < ?1;

-- name: schedules_insert_fire
-- ?1 text: schedule
-- ?2 integer: nominal time, µs
-- ?3 integer: that of the last one, µs
-- ?4 integer: how many
-- ?5 blob: task
-- ?6 integer: why it was skipped
-- Index: the primary key, which keeps a fire unique
insert into schedule_fire (schedule, at, last, count, task, skipped)
values (?1, ?2, ?3, ?4, ?5, ?6);

-- name: schedules_fires
-- ?1 text: schedule
-- ?2 integer: before, µs
-- ?3 integer: how many
-- Index: the primary key, whose order this is
select at, last, count, task, skipped
  from schedule_fire
 where schedule = ?1 and at < ?2
 order by at desc
 limit ?3;

-- name: schedules_forget_fires
-- ?1 integer: now, µs
-- ?2 integer: how many
-- ?3 integer: the retention of a queue that does not exist, ns
-- Index: schedule_fire_age, whose order this is; the primary keys
delete from schedule_fire
 where (schedule, at) in (
         select f.schedule, f.at
           from schedule_fire as f
           join schedule as s on s.name = f.schedule
           left join queue as q on q.name = s.queue
          where f.last < ?1 - ifnull(q.retention, ?3) / 1000
          order by f.last
          limit ?2);
