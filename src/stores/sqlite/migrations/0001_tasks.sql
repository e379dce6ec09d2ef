-- Tasks, queues, messages, API tokens, and what concerns the whole node. See docs/internals/adr/0006-sqlite-layout.md for why the
-- tables are cut this way.
--
-- Times are microseconds since 1970 in UTC, durations nanoseconds. States and events are the numbers of State and Event in
-- src/model/state.h (scheduled 0, ready 1, running 2, completed 3, aborted 4, cancelled 5): never renumber those.

create table control (
  one           integer primary key check (one = 1),
  stopped       integer not null default 0,  -- the scheduler: nothing is claimed
  next_worker   integer not null default 1,
  high_number   integer not null default 0,  -- the highest task number that was ever purged: numbers are not given twice
  stamp         integer,                     -- when a monitor last looked
  token_version integer not null default 0   -- every create and revoke of an API token changes it
) strict;
insert into control (one) values (1);

create table queue (
  no        integer primary key,
  name      text not null unique,
  paused    integer not null,
  base      integer not null,  -- ageing: src/model/rank.h
  rate      integer not null,
  since     integer not null,
  retention integer not null,
  -- How many tasks are in each state; changed in the transaction that moves them.
  scheduled integer not null default 0,
  ready     integer not null default 0,
  running   integer not null default 0,
  completed integer not null default 0,
  aborted   integer not null default 0,
  cancelled integer not null default 0
) strict;

-- A task as the client requested it: written once.
create table task (
  number       integer primary key,
  id           blob not null unique,
  queue        integer not null,
  key          text,
  priority     integer not null,
  created_at   integer not null,
  max_attempts integer not null,
  retry_kind   integer not null,
  retry_delay  integer not null,
  retry_factor real not null,
  retry_cap    integer not null,
  retry_jitter real not null,
  digest       blob not null,  -- of the request: distinguishes a repetition from a conflict
  spec         text not null
) strict;
create unique index task_key on task (queue, key) where key is not null;

-- The state of a task: one narrow row that changes.
create table life (
  number         integer primary key,
  queue          integer not null,
  state          integer not null,
  run_at         integer not null,
  recurring      integer,  -- never changes; here, because every completion needs it
  rank           integer,  -- since it last became ready
  ready_second   integer,
  attempt        integer not null,
  tries          integer not null,
  progress       real not null,
  has_checkpoint integer not null,
  owner          text,     -- while running, and of the attempt that ended the task
  started_at     integer,  -- of the same attempt
  token          blob,     -- of the claim, while running
  lease          integer,  -- its length, while running
  lease_expires  integer,
  ended_event    integer,  -- how the newest attempt that has ended did so, and whose it was
  ended_owner    text,
  updated_at     integer not null,
  result         text,
  cancel_reason  text,
  trail_omitted  integer not null default 0  -- entries of the history that are no longer in the trail
) strict;
-- The order of claims (the number follows as the rowid), due times, overdue leases, and what retention may take.
create index life_ready on life (queue, rank, ready_second) where state = 1;
create index life_due on life (run_at) where state = 0;
create index life_lease on life (lease_expires) where state = 2;
create index life_finished on life (queue, updated_at) where state >= 3;

create table checkpoint (
  number integer primary key,
  json   text not null
) strict;

-- Of aborted tasks.
create table error (
  number      integer not null,
  place       integer not null,
  code        text not null,
  args        text not null,
  description text not null,
  primary key (number, place)
) strict, without rowid;

-- The history of a task, as far as it is over. The row in life has the assignment of the present attempt; a row that ends an
-- attempt also has its beginning, so that a task that simply runs and completes writes nothing here.
create table trail (
  number     integer not null,
  place      integer not null,
  kind       integer not null,  -- HistoryKind in src/model/history.h
  attempt    integer not null,
  worker     text not null,
  started_at integer,           -- null for a late result
  at         integer not null,
  progress   real,
  detail     text not null,
  primary key (number, place)
) strict, without rowid;

-- The tokens of claims that a worker may repeat (ClaimWish::once in src/store/lease.h), since the claim that got something.
-- purge() forgets those that are old and under which nothing is leased.
create table claim_token (
  token      blob primary key,
  claimed_at integer not null
) strict, without rowid;
create index claim_token_age on claim_token (claimed_at);

-- Delayed messages. A message waits until readied_at is set, and then belongs to the node readied_by.
create table message (
  delay_queue      text not null,
  id               text not null,
  deadline         integer not null,
  due              integer not null,             -- the deadline, or later after a publish that failed
  readied_at       integer,
  readied_by       blob,
  may_be_published integer not null default 0,   -- nobody knows: see GiveBack in src/store/message_store.h
  source_partition integer,                      -- where the record lies in the input topic
  source_offset    integer,
  headers          text not null,                -- src/stores/headers.h
  key              blob,
  value            blob,
  unique (delay_queue, id)
) strict;
create index message_due on message (delay_queue, due, id);

-- The table of Chronos, for people and their tools.
create view chronos as
select id,
       strftime('%Y-%m-%dT%H:%M:', (deadline - (deadline % 60000000 + 60000000) % 60000000) / 1000000, 'unixepoch') ||
         printf('%09.6fZ', (deadline % 60000000 + 60000000) % 60000000 / 1000000.0) as deadline,
       strftime('%Y-%m-%dT%H:%M:', (readied_at - (readied_at % 60000000 + 60000000) % 60000000) / 1000000, 'unixepoch') ||
         printf('%09.6fZ', (readied_at % 60000000 + 60000000) % 60000000 / 1000000.0) as readied_at,
       lower(substr(hex(readied_by), 1, 8) || '-' || substr(hex(readied_by), 9, 4) || '-' ||
             substr(hex(readied_by), 13, 4) || '-' || substr(hex(readied_by), 17, 4) || '-' ||
             substr(hex(readied_by), 21)) as readied_by,
       headers as message_headers,
       key as message_key,
       value as message_value,
       delay_queue as queue
  from message;

-- API tokens. Of a secret only its hash is kept.
create table token (
  id         text primary key,
  name       text not null,
  role       integer not null,  -- Role in src/store/token_store.h
  patterns   text not null,     -- of queues, with a space between: src/model/queue_scope.h
  hash       blob not null,
  created_at integer not null
) strict, without rowid;
