-- Removal of finished tasks.

-- name: purgeable
-- ?1 integer: queue
-- ?2 integer: what was updated before this may go, µs
-- ?3 integer: how many
-- Index: life_finished, whose order this is
select number
  from life
 where queue = ?1 and state >= 3 and updated_at < ?2
 order by updated_at
 limit ?3;

-- name: purge_life
-- ?1 integer: task
-- Index: the primary key
delete from life
 where number = ?1 and state >= 3
returning state;

-- name: purge_task
-- ?1 integer: task
-- Index: the primary key
delete from task
 where number = ?1;

-- name: purge_checkpoint
-- ?1 integer: task
-- Index: the primary key
delete from checkpoint
 where number = ?1;

-- name: purge_errors
-- ?1 integer: task
-- Index: the primary key
delete from error
 where number = ?1;

-- name: purge_trail
-- ?1 integer: task
-- Index: the primary key
delete from trail
 where number = ?1;

-- name: purge_raise_high_number
-- Numbers are not given twice.
-- ?1 integer: number of a task that is purged
-- Index: none, the table has one row
update control
   set high_number = max(high_number, ?1);
