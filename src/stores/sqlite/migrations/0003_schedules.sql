-- Schedules, and what became of their fires.
create table schedule (
  name          text primary key,
  queue         text not null,     -- of its tasks
  definition    text not null,     -- src/model/schedule_text.h
  paused        integer not null,
  version       blob not null,
  created_at    integer not null,  -- µs, as all times here
  updated_at    integer not null,
  handled_until integer not null,
  next_at       integer,
  tzdata        text not null,
  last_task     blob
) strict, without rowid;
create index schedule_due on schedule (next_at) where next_at is not null;

create table schedule_fire (
  schedule text not null,
  at       integer not null,
  last     integer not null,
  count    integer not null,
  task     blob,
  skipped  integer,  -- SkipReason in src/model/schedule.h: never renumber those
  primary key (schedule, at)
) strict, without rowid;
create index schedule_fire_age on schedule_fire (last);
