-- API tokens. The row of control has the version of all of them.

-- name: tokens_exists
-- ?1 text: id
-- Index: the primary key
select 1
  from token
 where id = ?1;

-- name: tokens_count
-- Index: the primary key; all of it is read, for each new token
select count(*)
  from token;

-- name: tokens_insert
-- ?1 text: id
-- ?2 text: name
-- ?3 integer: role
-- ?4 text: patterns of its scope
-- ?5 blob: hash of the secret
-- ?6 integer: now, µs
-- Index: the primary key
insert into token (id, name, role, patterns, hash, created_at)
values (?1, ?2, ?3, ?4, ?5, ?6);

-- name: tokens_delete
-- ?1 text: id
-- Index: the primary key
delete from token
 where id = ?1;

-- name: tokens_next_version
-- Index: none, the table has one row
update control
   set token_version = token_version + 1;

-- name: tokens_version
-- Index: none, the table has one row
select token_version
  from control;

-- name: tokens_all
-- Sorts all of them: they are few, and are read only when they have changed.
-- Index: none
select id, name, role, patterns, hash, created_at
  from token
 order by created_at, id;
