-- Tokens of claims that serve once.

-- name: lock_tokens
-- In the order of the arrays, which is the same in all transactions: they cannot deadlock. Horae's other advisory locks
-- have one number, and so never the same as these.
-- $1 integer[]: the first halves of the keys
-- $2 integer[]: the second halves
-- Index: none
-- Locks: an advisory lock for each token, up to the end of the transaction
select pg_advisory_xact_lock(t.a, t.b)
  from unnest($1::integer[], $2::integer[]) as t(a, b);

-- name: token_patience
-- Bounds the lock wait, so that one stuck session cannot block claims batched with its token.
-- Index: none
-- Locks: none
select set_config('lock_timeout', '3s', true);

-- name: token_patience_ends
-- Index: none
-- Locks: none
select set_config('lock_timeout', '0', true);

-- name: served_tokens
-- $1 uuid[]: tokens
-- Index: claim_token_pkey
-- Locks: none
select token
  from claim_token
 where token = any($1::uuid[]);

-- name: note_served
-- $1 uuid[]: tokens
-- Index: none
-- Locks: the new rows; the tokens are locked already
insert into claim_token (token, claimed_at)
select t, (select horae_now())
  from unnest($1::uuid[]) as u(t);
