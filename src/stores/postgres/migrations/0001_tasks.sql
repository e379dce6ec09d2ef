-- Tasks, queues and what is said to the whole cluster. See docs/internals/adr/0007-postgres-layout.md for why the tables are cut this way.
--
-- A task has a number, `seq`: its day (days since 1970) << 40 | a counter. Where the task stands is told by which table holds the
-- range [lo, hi] with its number: delayed (scheduled), run (ready), lease (running) or outcome (finished), always exactly one. A
-- range has at most 64 tasks, and all that changes about them is alike. Transitions move ranges.
--
-- Durations are nanoseconds. States and events are the numbers of State and Event in src/model/state.h (scheduled 0, ready 1,
-- running 2, completed 3, aborted 4, cancelled 5): never renumber those.

-- The store's clock: all SQL asks this one. Tests replace it.
create function horae_now() returns timestamptz language sql stable as 'select now()';

create table control (
  one     boolean primary key default true check (one),
  stopped boolean not null default false,  -- the scheduler: nothing is claimed
  stamp   timestamptz                      -- when a monitor last looked
);
insert into control default values;

create sequence worker_number;
-- A node takes numbers for tasks in blocks of 4,096: seq = day << 40 | block << 12 | place in the block.
create sequence number_block minvalue 0 maxvalue 268435455 cycle;

create table queue (
  no        integer generated always as identity primary key,
  name      text not null unique,
  paused    boolean not null default false,
  base      bigint not null default 0,  -- ageing: src/model/rank.h
  rate      bigint not null default 1,
  since     bigint not null default 0,
  retention bigint not null
);

-- How many tasks have finished, as differences: each transaction adds its own row, and the upkeep adds them up. Nobody waits for
-- anybody.
create table tally (
  queue integer not null,
  state smallint not null,
  n     bigint not null
);

-- What a client asked for: written once. One partition for each day. Null stands for the default.
create table task (
  seq          bigint not null,
  id           uuid not null,
  created_at   timestamptz not null,
  queue        integer not null,
  priority     smallint not null,
  spec         text not null,
  key          text,
  run_at       timestamptz,  -- at once
  recurring    bigint,
  max_attempts integer,      -- no limit
  retry_kind   smallint,     -- the default policy
  retry_delay  bigint,
  retry_factor double precision,
  retry_cap    bigint,
  retry_jitter double precision,
  primary key (seq)
) partition by range (seq);

-- Keys are unique across days, and so are ids that do not tell their day: those that clients chose. The digest is that of the
-- request, to tell a repetition from a conflict.
create table task_key (
  queue  integer not null,
  key    text not null,
  seq    bigint not null,
  digest bytea not null,
  primary key (queue, key)
);
create table task_id (
  id     uuid primary key,
  seq    bigint not null,
  digest bytea not null
);

-- The four places of a task. Columns that they share:
--   attempt, tries, max_attempts, recurring   of the task; no limit is null
--   run_at                                    when it was due; null: as its task row says
--   ended_event, ended_owner                  how the newest attempt that has ended did so, and whose it was

create table delayed (
  lo           bigint primary key,
  hi           bigint not null,
  due          timestamptz not null,
  queue        integer not null,
  priority     smallint not null,
  updated_at   timestamptz not null,
  attempt      integer not null,
  tries        integer not null,
  max_attempts integer,
  recurring    bigint,
  ended_event  smallint,
  ended_owner  text,
  check (hi >= lo and hi < lo + 64)
);
create index delayed_due on delayed (due, lo);

create table run (
  lo           bigint primary key,
  hi           bigint not null,
  queue        integer not null,
  rank         bigint not null,
  at           bigint not null,  -- the second in which it became ready
  updated_at   timestamptz not null,
  attempt      integer not null,
  tries        integer not null,
  max_attempts integer,
  recurring    bigint,
  run_at       timestamptz,
  ended_event  smallint,
  ended_owner  text,
  check (hi >= lo and hi < lo + 64)
);
create index run_order on run (queue, rank, at, lo);

create table lease (
  lo           bigint primary key,
  hi           bigint not null,
  queue        integer not null,
  rank         bigint not null,
  at           bigint not null,
  attempt      integer not null,
  tries        integer not null,
  owner        text not null,
  token        uuid not null,
  length       bigint not null,
  started_at   timestamptz not null,
  expires      timestamptz not null,
  max_attempts integer,
  recurring    bigint,
  run_at       timestamptz,
  ended_event  smallint,
  ended_owner  text,
  check (hi >= lo and hi < lo + 64)
);
create index lease_expires on lease (expires, lo);

-- The same days as task.
create table outcome (
  lo            bigint not null,
  hi            bigint not null,
  queue         integer not null,
  state         smallint not null,
  attempt       integer not null,
  tries         integer not null,
  finished_at   timestamptz not null,
  owner         text,         -- null if no attempt was running
  started_at    timestamptz,
  run_at        timestamptz,
  ended_event   smallint,
  ended_owner   text,         -- null: the owner
  results       text[],       -- one for each task of the range; null if none brought one
  errors        text[],       -- code, args and description of each
  cancel_reason text,
  primary key (lo),
  check (hi >= lo and hi < lo + 64)
) partition by range (lo);
create index outcome_queue on outcome (queue, lo);
create index outcome_finished on outcome using brin (finished_at);

-- The past of the tasks' leases, in the order of `no`. The assignment of the present attempt is told by the lease or the outcome; a
-- row that ends an attempt also tells when it began. The same days as task.
create sequence trail_number;
create table trail (
  lo         bigint not null,
  hi         bigint not null,
  no         bigint not null default nextval('trail_number'),
  kind       smallint not null,  -- HistoryKind in src/model/history.h; -1: so many entries as `attempt` says were dropped
  attempt    integer not null,
  worker     text not null,
  at         timestamptz not null,
  started_at timestamptz,        -- null if another row tells of the assignment
  progress   double precision,
  detail     text,
  primary key (lo, no)
) partition by range (lo);

-- Keeps the past of one task bounded: the first 16 rows and the newest 112 stay, and the number of entries between is kept in a row
-- with the number 0. A row that also tells of an assignment is two entries.
create function horae_prune_trail(task_seq bigint) returns void language sql as $$
  with held as (
    select no, kind, started_at, row_number() over (order by no) as place, count(*) over () as total
      from trail where lo = task_seq and hi = task_seq and kind >= 0
  ), dropped as (
    delete from trail using held
      where trail.lo = task_seq and trail.no = held.no and held.place > 16 and held.place <= held.total - 112
      returning case when held.kind <> 0 and held.started_at is not null then 2 else 1 end as entries
  )
  insert into trail (lo, hi, no, kind, attempt, worker, at)
    select task_seq, task_seq, 0, -1, sum(entries), '', horae_now() from dropped having count(*) > 0
    on conflict (lo, no) do update set attempt = trail.attempt + excluded.attempt
$$;

-- Of tasks that reported any.
create table progress (
  seq        bigint primary key,
  attempt    integer not null,      -- that reported last
  progress   double precision,      -- null: 0
  checkpoint text,
  updated_at timestamptz not null
);

-- The result of the last turn of a recurring task.
create table turn (
  seq    bigint primary key,
  result text not null
);

-- Small tables with a lot of traffic: clean them before they grow.
alter table delayed set (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
alter table run set (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
alter table lease set (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
alter table tally set (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- ---- Days ----

-- The days that have partitions.
create table day (
  no bigint primary key  -- days since 1970
);

-- Makes the partitions of a day, if they are not there. Attaching locks out nobody who works.
create function horae_make_day(day_no bigint) returns void language plpgsql as $$
declare
  parent text;
begin
  perform pg_advisory_xact_lock(7205759403792794);
  if exists (select from day where no = day_no) then
    return;
  end if;
  foreach parent in array array['task', 'outcome', 'trail'] loop
    execute format('create table %s_d%s (like %s including defaults including constraints)', parent, day_no, parent);
    if parent = 'task' then
      execute format('create unique index on task_d%s (id)', day_no);
    end if;
    execute format('alter table %s attach partition %s_d%s for values from (%s) to (%s)', parent, parent, day_no, day_no << 40,
                   (day_no + 1) << 40);
  end loop;
  insert into day values (day_no);
end $$;

create function horae_day_lives(first_seq bigint, end_seq bigint) returns boolean language sql as $$
  select exists (select from run where lo >= first_seq and lo < end_seq)
      or exists (select from delayed where lo >= first_seq and lo < end_seq)
      or exists (select from lease where lo >= first_seq and lo < end_seq)
$$;

-- Drops a day in which nothing lives and everything has been finished for longer than the retention of its queue. Answers how many
-- tasks went with it; null if it must stay. Fails with lock_not_available, and has done nothing, if somebody works there just now.
create function horae_drop_day(day_no bigint) returns bigint language plpgsql as $$
declare
  first_seq bigint := day_no << 40;
  end_seq   bigint := (day_no + 1) << 40;
  alive     boolean;
  purged    bigint;
begin
  -- One node at a time; a peer may have dropped the day since it was listed.
  if not pg_try_advisory_xact_lock(7205759403792795) or not exists (select from day where no = day_no) then
    return null;
  end if;
  execute format('select exists (select from outcome_d%s o join queue q on q.no = o.queue where o.finished_at >= horae_now()'
                 || ' - q.retention / 1000 * interval ''1 microsecond'')', day_no) into alive;
  if alive or horae_day_lives(first_seq, end_seq) then
    return null;
  end if;

  -- All that takes long comes before the locks, which everybody waits for.
  execute format('select coalesce(sum(hi - lo + 1), 0) from outcome_d%s', day_no) into purged;
  execute format('insert into tally select queue, state, -sum(hi - lo + 1) from outcome_d%s group by queue, state', day_no);
  execute format('delete from task_key k using task_d%s t where t.key is not null and k.queue = t.queue and k.key = t.key', day_no);
  execute format('delete from task_id i using task_d%s t where i.id = t.id', day_no);
  delete from progress where seq >= first_seq and seq < end_seq;
  delete from turn where seq >= first_seq and seq < end_seq;

  -- Whoever writes into this day has a lock on its partitions, so that from here on nothing in it comes to life or ends.
  perform set_config('lock_timeout', '100ms', true);
  lock table only task, only outcome, only trail in access exclusive mode;
  execute format('lock table task_d%s, outcome_d%s, trail_d%s in access exclusive mode', day_no, day_no, day_no);
  -- What ended while we waited has a time that its transaction began with: an hour is longer than any lasts.
  execute format('select exists (select from outcome_d%s where finished_at >= horae_now() - interval ''1 hour'')', day_no) into alive;
  if alive or horae_day_lives(first_seq, end_seq) then
    raise exception 'day % came to life', day_no using errcode = 'lock_not_available';
  end if;
  execute format('drop table task_d%s, outcome_d%s, trail_d%s', day_no, day_no, day_no);
  delete from day where no = day_no;
  return purged;
end $$;

-- Where each task stands, in one shape: at most one row for a number. Join it on lo <= seq and lo > seq - 64 and hi >= seq.
create view place as
  select lo, hi, 0::smallint as state, queue, attempt, tries, due as run_at, updated_at, null::text as owner,
         null::timestamptz as started_at, null::timestamptz as expires, null::bigint as rank, null::bigint as at, ended_event,
         ended_owner, null::text[] as results, null::text[] as errors, null::text as cancel_reason
    from delayed
  union all
  select lo, hi, 1::smallint, queue, attempt, tries, run_at, updated_at, null, null, null, rank, at, ended_event, ended_owner, null,
         null, null
    from run
  union all
  select lo, hi, 2::smallint, queue, attempt, tries, run_at, started_at, owner, started_at, expires, rank, at, ended_event,
         ended_owner, null, null, null
    from lease
  union all
  select lo, hi, state, queue, attempt, tries, run_at, finished_at, owner, started_at, null, null, null, ended_event, ended_owner,
         results, errors, cancel_reason
    from outcome;
