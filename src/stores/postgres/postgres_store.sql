-- The database behind the store.

-- name: describe_server
-- Index: none
-- Locks: none
select current_setting('server_version'),
       current_database(),
       (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum'))::text;

-- name: probe_room
-- Fails on a full disk: a new table needs new pages, as new tasks do sooner or later. It is temporary, and gone with its
-- transaction.
-- Index: none
-- Locks: the new table
create temporary table horae_probe on commit drop as
select repeat(md5(i::text), 48) as filler
  from generate_series(1, 128) as i;
