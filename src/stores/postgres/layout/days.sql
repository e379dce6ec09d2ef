-- Days and numbers of tasks.

-- name: now
-- Index: none
-- Locks: none
select horae_now();

-- name: make_day
-- $1 bigint: the day, since 1970
-- Index: day_pkey
-- Locks: an advisory lock, so that one node at a time makes days
select horae_make_day($1::bigint);

-- name: take_block
-- Index: none
-- Locks: none
select nextval('number_block');
