-- Statements of planted bugs (src/base/mutant.h): only the simulator's build can reach them.

-- name: mutant_expire_by_age
-- Instead of upkeep_overdue: leases end by the age of the attempt.
-- ?1 integer: now, µs
-- ?2 integer: how many
-- Index: life_lease
select number
  from life
 where state = 2 and started_at + lease / 1000 < ?1
 order by lease_expires, number
 limit ?2;

-- name: mutant_expire_without_compare
-- Instead of upkeep_overdue: finished tasks are among them.
-- ?1 integer: now, µs
-- ?2 integer: how many
-- Index: none
select number
  from life
 where state between 2 and 3 and ifnull(lease_expires, updated_at) < ?1
 order by lease_expires, number
 limit ?2;

-- name: mutant_purgeable
-- Instead of purgeable: tasks that wait are among them.
-- ?1 integer: queue
-- ?2 integer: what was updated before this may go, µs
-- ?3 integer: how many
-- Index: none
select number
  from life
 where queue = ?1 and state <> 2 and updated_at < ?2
 order by updated_at
 limit ?3;

-- name: mutant_purge_life
-- Instead of purge_life.
-- ?1 integer: task
-- Index: the primary key
delete from life
 where number = ?1 and state <> 2
returning state;
