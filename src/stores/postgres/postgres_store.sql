-- The database behind the store.

-- name: describe_server
-- Index: none
-- Locks: none
select current_setting('server_version'),
       current_database(),
       (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum'))::text;
