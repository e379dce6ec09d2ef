-- Schedules and their fires.

-- name: schedules_get
-- $1 text: name
-- Index: schedule_pkey
-- Locks: none
select name, paused, definition, version, created_at, updated_at, handled_until, next_at, tzdata, last_task
  from schedule
 where name = $1::text;

-- name: schedules_lock
-- Those who change or step the same schedules wait here, in one order.
-- $1 text[]: names
-- Index: schedule_pkey
-- Locks: the rows, in the order of their names
select name, paused, definition, version, created_at, updated_at, handled_until, next_at, tzdata, last_task
  from schedule
 where name = any($1::text[])
 order by name
   for update;

-- name: schedules_list
-- $1 text: the name before the first one
-- $2 bigint: how many
-- Index: schedule_pkey, whose order this is
-- Locks: none
select name, paused, definition, version, created_at, updated_at, handled_until, next_at, tzdata, last_task
  from schedule
 where name > $1::text
 order by name
 limit $2::bigint;

-- name: schedules_due
-- The first one that is not due is among them: it says when to look again.
-- $1 bigint: how many
-- Index: schedule_due, whose order this is
-- Locks: none
select name, paused, definition, version, created_at, updated_at, handled_until, next_at, tzdata, last_task
  from schedule
 where next_at is not null
 order by next_at
 limit $1::bigint;

-- name: schedules_now
-- Index: none
-- Locks: none
select horae_now();

-- name: schedules_insert
-- Inserts a schedule unless there are too many, or one has that name already.
-- $1 text: name
-- $2 text: queue
-- $3 text: definition
-- $4 boolean: whether it is paused
-- $5 uuid: version
-- $6 bigint: how many schedules there may be
-- Index: schedule_pkey
-- Locks: the new row
insert into schedule (name, queue, definition, paused, version, created_at, updated_at, handled_until, next_at, tzdata)
select $1::text, $2::text, $3::text, $4::boolean, $5::uuid, c.now, c.now, c.now, case when not $4::boolean then c.now end,
       ''
  from (select horae_now() as now) as c
 where (select count(*) from schedule) < $6::bigint
    on conflict do nothing;

-- name: schedules_update
-- The task of the last fire stays: an overlap is judged by it.
-- $1 text: name
-- $2 text: queue
-- $3 text: definition
-- $4 boolean: whether it is paused
-- $5 uuid: version
-- Index: schedule_pkey
-- Locks: the row, which schedules_lock holds
update schedule
   set queue = $2::text, definition = $3::text, paused = $4::boolean, version = $5::uuid, updated_at = c.now,
       handled_until = greatest(handled_until, c.now),
       next_at = case when not $4::boolean then greatest(handled_until, c.now) end, tzdata = ''
  from (select horae_now() as now) as c
 where name = $1::text;

-- name: schedules_step
-- Takes schedules on that are still those that were seen, for steps that lie in the past. Answers the places of those.
-- $1 text[]: names
-- $2 uuid[]: versions that were seen
-- $3 timestamptz[]: handled_until that was seen
-- $4 timestamptz[]: until
-- $5 timestamptz[]: when to step next
-- $6 text[]: versions of the time zone database
-- Index: schedule_pkey
-- Locks: the rows, which schedules_lock holds
update schedule as s
   set handled_until = w.until, next_at = w.next_at, tzdata = w.tzdata
  from unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[], $6::text[])
       with ordinality as w(name, version, seen, until, next_at, tzdata, place)
 where s.name = w.name and s.version = w.version and s.handled_until = w.seen and not s.paused
   and w.until <= horae_now()
returning w.place, s.last_task;

-- name: schedules_last_tasks
-- $1 text[]: names
-- $2 uuid[]: tasks
-- Index: schedule_pkey
-- Locks: the rows, which schedules_lock holds
update schedule as s
   set last_task = w.task
  from unnest($1::text[], $2::uuid[]) as w(name, task)
 where s.name = w.name;

-- name: schedules_remove
-- $1 text: name
-- Index: schedule_pkey
-- Locks: the row, which schedules_lock holds
delete from schedule
 where name = $1::text;

-- name: schedules_remove_fires
-- $1 text: name
-- Index: schedule_fire_pkey, for those of the schedule
-- Locks: the rows
delete from schedule_fire
 where schedule = $1::text;

-- name: schedules_recompute
-- $1 text: version of the time zone database
-- Index: none: it runs once for each start of a node
-- Locks: the rows
update schedule
   set next_at = greatest(handled_until, horae_now())
 where next_at > greatest(handled_until, horae_now()) and tzdata < $1::text;

-- name: schedules_insert_fires
-- $1 text[]: schedules
-- $2 timestamptz[]: nominal times
-- $3 timestamptz[]: those of the last ones
-- $4 bigint[]: how many
-- $5 uuid[]: tasks
-- $6 smallint[]: why they were skipped
-- Index: schedule_fire_pkey, which keeps a fire unique
-- Locks: the new rows
insert into schedule_fire (schedule, at, last, count, task, skipped)
select *
  from unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::bigint[], $5::uuid[], $6::smallint[]);

-- name: schedules_fires
-- $1 text: schedule
-- $2 timestamptz: before
-- $3 bigint: how many
-- Index: schedule_fire_pkey, whose order this is
-- Locks: none
select at, last, count, task, skipped
  from schedule_fire
 where schedule = $1::text and at < $2::timestamptz
 order by at desc
 limit $3::bigint;

-- name: schedules_forget_fires
-- $1 bigint: how many
-- $2 bigint: the retention of a queue that does not exist, ns
-- Index: schedule_fire_age, whose order this is; the primary keys
-- Locks: the rows
delete from schedule_fire as gone
 using (select f.schedule, f.at
          from schedule_fire as f
          join schedule as s on s.name = f.schedule
          left join queue as q on q.name = s.queue
         where f.last < horae_now() - coalesce(q.retention, $2::bigint) / 1000 * interval '1 microsecond'
         order by f.last
         limit $1::bigint) as old
 where gone.schedule = old.schedule and gone.at = old.at;
