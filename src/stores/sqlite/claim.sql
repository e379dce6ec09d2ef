-- Leasing ready tasks.

-- name: claim_heads
-- The ready tasks of one queue, most urgent first.
-- ?1 integer: queue
-- ?2 integer: how many at most
-- Index: life_ready, whose order this is (the number is its last column), so nothing is sorted
select number, rank, ready_second, attempt, has_checkpoint
  from life
 where state = 1 and queue = ?1
 order by rank, ready_second, number
 limit ?2;

-- name: claim_lease
-- Starts the next attempt, as effect_of() says of a claim.
-- ?1 text: owner
-- ?2 blob: token of the claim
-- ?3 integer: length of the lease, ns
-- ?4 integer: end of the lease, µs
-- ?5 integer: now, µs
-- ?6, ?7: number and attempt that are expected
-- Index: the primary key
update life
   set state = 2,
       attempt = attempt + 1,
       owner = ?1,
       token = ?2,
       lease = ?3,
       lease_expires = ?4,
       started_at = ?5,
       updated_at = ?5
 where number = ?6 and state = 1 and attempt = ?7;

-- name: claim_payload
-- ?1 integer: task
-- Index: the primary key
select id, priority, spec
  from task
 where number = ?1;

-- name: claim_checkpoint
-- ?1 integer: task
-- Index: the primary key
select json
  from checkpoint
 where number = ?1;

-- name: claim_has_served
-- ?1 blob: token
-- Index: the primary key
select 1
  from claim_token
 where token = ?1;

-- name: claim_note_served
-- ?1 blob: token
-- ?2 integer: now, µs
-- Index: the primary key, and claim_token_age
insert into claim_token (token, claimed_at)
values (?1, ?2);

-- name: claim_of_token
-- What is leased under a token that is repeated.
-- ?1 blob: token
-- Index: life_lease. None has the token: the running tasks are few, and repetitions rare. But there are many other
-- tasks, which the order by number would tempt SQLite to read.
select life.number, queue.name, attempt, lease_expires, has_checkpoint, owner
  from life indexed by life_lease
  join queue on queue.no = life.queue
 where state = 2 and token = ?1
 order by life.number;
