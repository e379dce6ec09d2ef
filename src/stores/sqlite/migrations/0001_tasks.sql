-- Tasks, queues and what is said to the whole node. See docs/internals/adr/0006-sqlite-layout.md for why the tables are cut this way.
--
-- Times are microseconds since 1970 in UTC, durations nanoseconds. States and events are the numbers of State and Event in
-- src/model/state.h (scheduled 0, ready 1, running 2, completed 3, aborted 4, cancelled 5): never renumber those.

CREATE TABLE control (
  one         INTEGER PRIMARY KEY CHECK (one = 1),
  stopped     INTEGER NOT NULL DEFAULT 0,  -- the scheduler: nothing is claimed
  next_worker INTEGER NOT NULL DEFAULT 1,
  high_number INTEGER NOT NULL DEFAULT 0,  -- the highest task number that was ever purged: numbers are not given twice
  stamp       INTEGER                      -- when a monitor last looked
) STRICT;
INSERT INTO control (one) VALUES (1);

CREATE TABLE queue (
  no        INTEGER PRIMARY KEY,
  name      TEXT NOT NULL UNIQUE,
  paused    INTEGER NOT NULL,
  base      INTEGER NOT NULL,  -- ageing: src/model/rank.h
  rate      INTEGER NOT NULL,
  since     INTEGER NOT NULL,
  retention INTEGER NOT NULL,
  -- How many tasks are in each state; changed in the transaction that moves them.
  scheduled INTEGER NOT NULL DEFAULT 0,
  ready     INTEGER NOT NULL DEFAULT 0,
  running   INTEGER NOT NULL DEFAULT 0,
  completed INTEGER NOT NULL DEFAULT 0,
  aborted   INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What a client asked for: written once.
CREATE TABLE task (
  number       INTEGER PRIMARY KEY,
  id           BLOB NOT NULL UNIQUE,
  queue        INTEGER NOT NULL,
  key          TEXT,
  priority     INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  retry_kind   INTEGER NOT NULL,
  retry_delay  INTEGER NOT NULL,
  retry_factor REAL NOT NULL,
  retry_cap    INTEGER NOT NULL,
  retry_jitter REAL NOT NULL,
  digest       BLOB NOT NULL,  -- of the request, to tell a repetition from a conflict
  spec         TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX task_key ON task (queue, key) WHERE key IS NOT NULL;

-- Where a task stands: one narrow row that changes.
CREATE TABLE life (
  number         INTEGER PRIMARY KEY,
  queue          INTEGER NOT NULL,
  state          INTEGER NOT NULL,
  run_at         INTEGER NOT NULL,
  recurring      INTEGER,  -- never changes; here, because every completion asks for it
  rank           INTEGER,  -- since it last became ready
  ready_second   INTEGER,
  attempt        INTEGER NOT NULL,
  tries          INTEGER NOT NULL,
  progress       REAL NOT NULL,
  has_checkpoint INTEGER NOT NULL,
  owner          TEXT,     -- while running, and of the attempt that ended the task
  started_at     INTEGER,  -- of the same attempt
  token          BLOB,     -- of the claim, while running
  lease          INTEGER,  -- its length, while running
  lease_expires  INTEGER,
  ended_event    INTEGER,  -- how the newest attempt that has ended did so, and whose it was
  ended_owner    TEXT,
  updated_at     INTEGER NOT NULL,
  result         TEXT,
  cancel_reason  TEXT,
  trail_omitted  INTEGER NOT NULL DEFAULT 0  -- entries of the history that are no longer in the trail
) STRICT;
-- The order of claims (the number follows as the rowid), due times, overdue leases, and what retention may take.
CREATE INDEX life_ready ON life (queue, rank, ready_second) WHERE state = 1;
CREATE INDEX life_due ON life (run_at) WHERE state = 0;
CREATE INDEX life_lease ON life (lease_expires) WHERE state = 2;
CREATE INDEX life_finished ON life (queue, updated_at) WHERE state >= 3;

CREATE TABLE checkpoint (
  number INTEGER PRIMARY KEY,
  json   TEXT NOT NULL
) STRICT;

-- Of aborted tasks.
CREATE TABLE error (
  number      INTEGER NOT NULL,
  place       INTEGER NOT NULL,
  code        TEXT NOT NULL,
  args        TEXT NOT NULL,
  description TEXT NOT NULL,
  PRIMARY KEY (number, place)
) STRICT, WITHOUT ROWID;

-- The past of a task's leases. The assignment of the present attempt is told by its life; a row that ends an attempt also tells
-- when it began, so that a task that simply runs and completes writes nothing here.
CREATE TABLE trail (
  number     INTEGER NOT NULL,
  place      INTEGER NOT NULL,
  kind       INTEGER NOT NULL,  -- HistoryKind in src/model/history.h
  attempt    INTEGER NOT NULL,
  worker     TEXT NOT NULL,
  started_at INTEGER,           -- nothing for a late result
  at         INTEGER NOT NULL,
  progress   REAL,
  detail     TEXT NOT NULL,
  PRIMARY KEY (number, place)
) STRICT, WITHOUT ROWID;
