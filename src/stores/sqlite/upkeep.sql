-- What the loops of the engine need: promotion, the watch over leases, purging.

-- ---- Promote ----

-- name: upkeep_due
-- ?1 integer: now, µs
-- ?2 integer: how many
-- Index: life_due, whose order this is
select number, life.queue, priority, queue.name
  from life
  join task using (number)
  join queue on queue.no = life.queue
 where state = 0 and run_at <= ?1
 order by run_at, number
 limit ?2;

-- name: upkeep_next_due
-- Index: life_due, at its beginning
select min(run_at)
  from life
 where state = 0;

-- name: upkeep_promote
-- ?1 integer: rank
-- ?2 integer: the present second
-- ?3 integer: now, µs
-- ?4 integer: task
-- Index: the primary key
update life
   set state = 1,
       rank = ?1,
       ready_second = ?2,
       updated_at = ?3
 where number = ?4 and state = 0;

-- ---- The monitor ----

-- name: upkeep_stamp
-- Index: none, the table has one row
select stamp
  from control;

-- name: upkeep_set_stamp
-- ?1 integer: now, µs
-- Index: none, the table has one row
update control
   set stamp = ?1;

-- name: upkeep_first_expiry
-- Index: life_lease, at its beginning
select min(lease_expires)
  from life
 where state = 2;

-- name: upkeep_extend
-- ?1 integer: now, µs
-- Index: life_lease
update life
   set lease_expires = ?1 + lease / 1000
 where state = 2;

-- name: upkeep_extend_out_of_sight
-- Leases that no monitor has seen for too long: see ExpireWish in src/store/task_store.h. Such a lease ends after
-- the last stamp, and within twice the time that has passed since, which bounds the scan.
-- ?1 integer: now, µs
-- ?2 integer: the last stamp, µs
-- ?3 integer: the slack, µs
-- Index: life_lease
update life
   set lease_expires = ?1 + (lease + 999) / 1000
 where state = 2
   and lease_expires >= ?2
   and lease_expires < ?1 + 2 * (?1 - ?2)
   and 3 * (?1 - ?3 - max(?2, lease_expires - (lease + 999) / 1000)) > (lease + 999) / 1000;

-- name: upkeep_overdue
-- Running tasks whose lease has ended, most overdue first.
-- ?1 integer: now, µs
-- ?2 integer: how many
-- Index: life_lease, whose order this is
select number
  from life
 where state = 2 and lease_expires < ?1
 order by lease_expires, number
 limit ?2;

-- name: upkeep_name
-- ?1 integer: task
-- Index: the primary keys
select id, queue.name
  from task join queue on queue.no = task.queue
 where number = ?1;

-- ---- Purge ----

-- name: upkeep_retentions
-- Index: none, all are read
select no, retention
  from queue;

-- name: upkeep_forget_queues
-- ?1 integer: only those that were made before this, µs
-- ?2 integer: how many
-- Index: none, all are read
delete from queue
 where no in (
         select no
           from queue
          where configured = 0
            and made_at < ?1
            and scheduled + ready + running + completed + aborted + cancelled = 0
          limit ?2);

-- name: upkeep_old_tokens
-- Tokens that are old, and under which nothing is leased. All running tasks are read once for all of them.
-- ?1 integer: what was claimed before this is old, µs
-- ?2 integer: how many
-- Index: claim_token_age, and life_lease
select token
  from claim_token
 where claimed_at < ?1
   and token not in (select token from life indexed by life_lease where state = 2 and token is not null)
 order by claimed_at
 limit ?2;

-- name: upkeep_forget_token
-- ?1 blob: token
-- Index: the primary key
delete from claim_token
 where token = ?1;
