-- Messages between nodes.

-- name: notify
-- A message need not survive a crash, and transactions that notify wait for each other's commits: this one does not wait
-- for the disk.
-- $1 text: the message
-- Index: none
-- Locks: the one of NOTIFY, at the commit
select pg_notify('horae', $1), set_config('synchronous_commit', 'off', true);
