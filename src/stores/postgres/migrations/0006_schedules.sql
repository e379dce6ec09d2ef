-- Schedules, and what became of their fires.
create table schedule (
  name          text collate "C" primary key,
  queue         text not null,  -- of its tasks
  definition    text not null,  -- src/model/schedule_text.h
  paused        boolean not null,
  version       uuid not null,
  created_at    timestamptz not null,
  updated_at    timestamptz not null,
  handled_until timestamptz not null,
  next_at       timestamptz,
  tzdata        text collate "C" not null,
  last_task     uuid
);
create index schedule_due on schedule (next_at) where next_at is not null;

create table schedule_fire (
  schedule text collate "C" not null,
  at       timestamptz not null,
  last     timestamptz not null,
  count    bigint not null,
  task     uuid,
  skipped  smallint,  -- SkipReason in src/model/schedule.h: never renumber those
  primary key (schedule, at)
);
create index schedule_fire_age on schedule_fire (last);
