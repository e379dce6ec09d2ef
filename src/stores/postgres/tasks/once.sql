-- Tokens of claims that serve once. What a claim does about them is in take_head.sql and in horae_token_state() of the
-- migration.

-- name: lock_tokens
-- Waits for the transactions that are at work under these tokens. In the order of the keys, which is the same in all
-- transactions: they cannot deadlock. Horae's other advisory locks are fixed numbers, which no token is likely to have.
-- Two tokens that share a key wait for each other without need, which is harmless.
-- $1 uuid[]: tokens
-- Index: none
-- Locks: an advisory lock for each token, up to the end of the transaction
select pg_advisory_xact_lock(t.key)
  from (
    select distinct uuid_hash_extended(w.token, 0) as key
      from unnest($1::uuid[]) as w(token)
     order by 1
    offset 0) as t;

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
