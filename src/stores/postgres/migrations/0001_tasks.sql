-- Tasks and queues. docs/internals/adr/0007-postgres-layout.md says why the tables are cut this way.
--
-- A task has a number: its day (days since 1970) << 40 | a counter. Its state is the table that holds a range [lo, hi] with that
-- number: scheduled, ready, running or finished, always exactly one. A range has at most 64 tasks, and all of its other columns are
-- the same for each of them. Transitions move ranges between these tables.
--
-- Durations are nanoseconds. States and events are the numbers of State and Event in src/model/state.h (scheduled 0, ready 1,
-- running 2, completed 3, aborted 4, cancelled 5): never renumber those.

-- The store's clock: every statement reads this one. Tests replace it. It is that of the wall, not of the transaction's beginning:
-- a transaction may wait for locks, and its node may be paused in the middle. What must be one moment is read once, in one statement:
-- as `(select horae_now())`, which also serves as the bound of an index scan, or as a row of its own that others are joined to. A
-- statement that waits for locks reads it again for each row, which is locked by then.
create function horae_now() returns timestamptz language sql volatile as 'select clock_timestamp()';

-- One row.
create table control (
  one           boolean primary key default true check (one),
  stopped       boolean not null default false,  -- the scheduler: nothing is claimed
  stamp         timestamptz,                     -- the last pass of a monitor
  token_version bigint not null default 0        -- rises with each change of an API token
);
insert into control default values;

create sequence worker_number;
-- A node takes numbers for tasks in blocks of 4,096: number = day << 40 | block << 12 | place in the block.
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

-- How many tasks have finished, as differences: each transaction adds rows of its own, and the upkeep adds them up. So no
-- transaction waits for another one.
create table tally (
  queue integer not null,
  state smallint not null,
  n     bigint not null
);

-- What the client submitted: written once. One partition for each day. Null stands for the default.
create table task (
  number       bigint not null,
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
  primary key (number)
) partition by range (number);

-- Keys are unique across days, and so are ids from which the day cannot be derived: those that clients chose. The digest is that of
-- the request, to tell a repetition from a conflict.
create table task_key (
  queue  integer not null,
  key    text not null,
  number bigint not null,
  digest bytea not null,
  primary key (queue, key)
);
create table task_id (
  id     uuid primary key,
  number bigint not null,
  digest bytea not null
);

-- The four tables of states. Columns that they share:
--   attempt, tries, max_attempts, recurring   of the task; no limit is null
--   run_at                                    when it was due; null: as its task row says
--   ended_event, ended_owner                  how the newest attempt that has ended did so, and whose it was
--
-- Their secondary indexes have the number as the expression (lo + 0), and statements order by `lo + 0`. It is there for the order
-- among rows with equal first columns, of which there may be many, and must be of no use for finding a number: a table that looked
-- empty to the last analyze would tempt the planner to look for a number there, by reading the index from one end to the other with
-- all entries of rows that are gone.

create table scheduled (
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
create index scheduled_due on scheduled (due, (lo + 0));

create table ready (
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
create index ready_order on ready (queue, rank, at, (lo + 0));

create table running (
  lo           bigint primary key,
  hi           bigint not null,
  queue        integer not null,
  rank         bigint not null,
  at           bigint not null,
  attempt      integer not null,
  tries        integer not null,
  owner        text not null,
  token        uuid not null,
  length       bigint not null,  -- of the lease
  started_at   timestamptz not null,
  expires      timestamptz not null,
  max_attempts integer,
  recurring    bigint,
  run_at       timestamptz,
  ended_event  smallint,
  ended_owner  text,
  check (hi >= lo and hi < lo + 64)
);
create index running_expires on running (expires, (lo + 0));

-- Partitions by day, as for task.
create table finished (
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
create index finished_queue on finished (queue, (lo + 0));
create index finished_time on finished using brin (finished_at);

-- The tokens of claims that a worker may repeat, each from the claim that got something on: see ClaimWish::once in
-- src/store/lease.h. Those that are old, and under which nothing is leased, are deleted.
create table claim_token (
  token      uuid primary key,
  claimed_at timestamptz not null,
  lo         bigint not null,  -- all that was leased under it lies between these numbers
  hi         bigint not null
);
create index claim_token_age on claim_token (claimed_at);

-- What a claim may do under a token that serves once: 0 it is the first, 1 the token has served, 2 another transaction is at work under
-- it. For 0 and 1 the token is locked up to the end of the transaction. It never waits, so it may be asked with any locks held. The look
-- comes after the lock and has a snapshot of its own, so it sees what the last one that held the lock has committed.
create function horae_token_state(asked uuid) returns smallint language plpgsql volatile as $$
begin
  if not pg_try_advisory_xact_lock(uuid_hash_extended(asked, 0)) then
    return 2;
  end if;
  return case when exists (select from claim_token where token = asked) then 1 else 0 end;
end $$;

-- The history of the tasks' attempts, in the order of `no`. The assignment of the present attempt follows from running or finished; a
-- row that ends an attempt also says when it began. Partitions by day, as for task.
create sequence trail_no;
create table trail (
  lo         bigint not null,
  hi         bigint not null,
  no         bigint not null default nextval('trail_no'),
  kind       smallint not null,  -- HistoryKind in src/model/history.h; -1: so many entries as `attempt` says were dropped
  attempt    integer not null,
  worker     text not null,
  at         timestamptz not null,
  started_at timestamptz,        -- null if the assignment is in another row
  progress   double precision,
  detail     text,
  primary key (lo, no)
) partition by range (lo);

-- Keeps the history of one task bounded: the first 16 rows and the newest 112 stay, and the number of entries between is kept in a
-- row whose `no` is 0, together with `omitted`, those that were not even written. A row that also holds an assignment is two entries.
create function horae_prune_trail(task_number bigint, omitted bigint) returns void language sql as $$
  with held as (
    select no, kind, started_at, row_number() over (order by no) as place, count(*) over () as total
      from trail
     where lo = task_number and hi = task_number and kind >= 0
  ), dropped as (
    delete from trail
     using held
     where trail.lo = task_number and trail.no = held.no and held.place > 16 and held.place <= held.total - 112
    returning case when held.kind <> 0 and held.started_at is not null then 2 else 1 end as entries
  )
  insert into trail (lo, hi, no, kind, attempt, worker, at)
  select task_number, task_number, 0, -1, coalesce(sum(entries), 0) + omitted, '', horae_now()
    from dropped
  having coalesce(sum(entries), 0) + omitted > 0
      on conflict (lo, no) do update set attempt = trail.attempt + excluded.attempt
$$;

-- Of tasks that reported any.
create table progress (
  number     bigint primary key,
  attempt    integer not null,  -- that reported last
  progress   double precision,  -- null: 0
  checkpoint text,
  updated_at timestamptz not null
);

-- The result of the last turn of a recurring task.
create table turn (
  number bigint primary key,
  result text not null
);

-- Small tables with a lot of traffic: clean them before they grow.
alter table scheduled set (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
alter table ready set (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
alter table running set (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
alter table tally set (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- ---- Days ----

-- The days that have partitions.
create table day (
  no bigint primary key  -- days since 1970
);

-- Makes the partitions of a day unless they exist. Attaching them locks out no statement that works on other days.
create function horae_make_day(day_no bigint) returns void language plpgsql as $$
declare
  parent text;
begin
  perform pg_advisory_xact_lock(7205759403792794);
  if exists (select from day where no = day_no) then
    return;
  end if;
  foreach parent in array array['task', 'finished', 'trail'] loop
    execute format('create table %s_d%s (like %s including defaults including constraints)', parent, day_no, parent);
    if parent = 'task' then
      execute format('create unique index on task_d%s (id)', day_no);
    end if;
    execute format('alter table %s attach partition %s_d%s for values from (%s) to (%s)', parent, parent, day_no, day_no << 40,
                   (day_no + 1) << 40);
  end loop;
  -- The first blocks count as summarized from the beginning, and each row in them would widen their summary.
  perform brin_desummarize_range(indexrelid, 0)
     from pg_index
     join pg_class on pg_class.oid = pg_index.indexrelid
     join pg_am on pg_am.oid = pg_class.relam
    where indrelid = ('finished_d' || day_no)::regclass and amname = 'brin';
  insert into day values (day_no);
end $$;

-- True if a task of these numbers has not finished.
create function horae_day_lives(first_number bigint, end_number bigint) returns boolean language sql as $$
  select exists (select from ready where lo >= first_number and lo < end_number)
      or exists (select from scheduled where lo >= first_number and lo < end_number)
      or exists (select from running where lo >= first_number and lo < end_number)
$$;

-- Drops a day in which all tasks have been finished for longer than the retention of their queues. Returns how many tasks were
-- dropped with it; null if it must stay. Fails with lock_not_available, and has done nothing, if a transaction works in that day.
create function horae_drop_day(day_no bigint) returns bigint language plpgsql as $$
declare
  first_number bigint := day_no << 40;
  end_number   bigint := (day_no + 1) << 40;
  alive        boolean;
  purged       bigint;
begin
  -- One node at a time; another one may have dropped the day since it was listed.
  if not pg_try_advisory_xact_lock(7205759403792795) or not exists (select from day where no = day_no) then
    return null;
  end if;
  execute format('select exists (select from finished_d%s f join queue q on q.no = f.queue where f.finished_at >= (select horae_now())'
                 || ' - q.retention / 1000 * interval ''1 microsecond'')', day_no) into alive;
  if alive or horae_day_lives(first_number, end_number) then
    return null;
  end if;

  -- All that takes long comes before the locks, for which every other transaction waits.
  execute format('select coalesce(sum(hi - lo + 1), 0) from finished_d%s', day_no) into purged;
  execute format('insert into tally select queue, state, -sum(hi - lo + 1) from finished_d%s group by queue, state', day_no);
  execute format('delete from task_key k using task_d%s t where t.key is not null and k.queue = t.queue and k.key = t.key', day_no);
  execute format('delete from task_id i using task_d%s t where i.id = t.id', day_no);
  delete from progress where number >= first_number and number < end_number;
  delete from turn where number >= first_number and number < end_number;

  -- A transaction that writes into this day has a lock on its partitions, so from here on no task of it is stored or finishes.
  perform set_config('lock_timeout', '100ms', true);
  lock table only task, only finished, only trail in access exclusive mode;
  execute format('lock table task_d%s, finished_d%s, trail_d%s in access exclusive mode', day_no, day_no, day_no);
  -- What finished while this waited did so after it began: an hour is longer than it waits.
  execute format('select exists (select from finished_d%s where finished_at >= (select horae_now()) - interval ''1 hour'')', day_no) into alive;
  if alive or horae_day_lives(first_number, end_number) then
    raise exception 'day % came to life', day_no using errcode = 'lock_not_available';
  end if;
  execute format('drop table task_d%s, finished_d%s, trail_d%s', day_no, day_no, day_no);
  delete from day where no = day_no;
  return purged;
end $$;

-- The state of each task, in one shape: at most one row for a number. Join it on lo <= number and lo > number - 64 and hi >= number.
create view place as
  select lo, hi, 0::smallint as state, queue, attempt, tries, due as run_at, updated_at, null::text as owner,
         null::timestamptz as started_at, null::timestamptz as expires, null::bigint as rank, null::bigint as at, ended_event,
         ended_owner, null::text[] as results, null::text[] as errors, null::text as cancel_reason
    from scheduled
  union all
  select lo, hi, 1::smallint, queue, attempt, tries, run_at, updated_at, null, null, null, rank, at, ended_event, ended_owner, null,
         null, null
    from ready
  union all
  select lo, hi, 2::smallint, queue, attempt, tries, run_at, started_at, owner, started_at, expires, rank, at, ended_event,
         ended_owner, null, null, null
    from running
  union all
  select lo, hi, state, queue, attempt, tries, run_at, finished_at, owner, started_at, null, null, null, ended_event, ended_owner,
         results, errors, cancel_reason
    from finished;
