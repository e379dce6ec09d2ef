-- API tokens. The row of control is the version of all of them.

-- name: tokens_next_version
-- The first statement of every change: changes follow one another, so that the count that tokens_insert sees is exact.
-- Readers do not wait.
-- Index: none, the table has one row
-- Locks: the row of control
update control
   set token_version = token_version + 1;

-- name: tokens_version
-- Index: none, the table has one row
-- Locks: none
select token_version
  from control;

-- name: tokens_insert
-- Inserts a token unless there are too many, or one has that id already.
-- $1 text: id
-- $2 text: name
-- $3 smallint: role
-- $4 text[]: patterns of its scope
-- $5 bytea: hash of the secret
-- $6 bigint: how many tokens there may be
-- Index: token_pkey
-- Locks: the new row
insert into token (id, name, role, patterns, hash, created_at)
select $1::text, $2::text, $3::smallint, $4::text[], $5::bytea, horae_now()
 where (select count(*) from token) < $6::bigint
    on conflict do nothing
returning created_at;

-- name: tokens_exists
-- $1 text: id
-- Index: token_pkey
-- Locks: none
select
  from token
 where id = $1::text;

-- name: tokens_delete
-- $1 text: id
-- Index: token_pkey
-- Locks: the row
delete from token
 where id = $1::text;

-- name: tokens_all
-- Sorts all of them: they are few, and are read only when they have changed.
-- Index: none
-- Locks: none
select id, name, role, patterns, hash, created_at
  from token
 order by created_at, id collate "C";
