-- The version of the schema.

-- name: migration_lock
-- One node migrates at a time. The number must be the same in all versions of Horae ("horae").
-- Index: none
-- Locks: an advisory lock, up to the end of the transaction
select pg_advisory_xact_lock(448546365797);

-- name: migration_make_version
-- Index: none
-- Locks: none
create table if not exists horae_version (
  one     boolean primary key default true check (one),
  version integer not null
);

-- name: migration_has_version
-- Index: none
-- Locks: none
select 1
 where to_regclass('horae_version') is not null;

-- name: migration_version
-- Index: none, the table has one row
-- Locks: none
select version
  from horae_version;
