-- What an event does to the row of a task. Each statement names the state, the attempt and the owner that it expects.

-- name: effects_extend
-- A heartbeat: the attempt continues.
-- ?1 integer: length of the lease, ns
-- ?2 integer: end of the lease, µs
-- ?3 real: progress; null: it stays
-- ?4 integer: whether there is a checkpoint; null: as before
-- ?5 integer: updated_at, µs; null: it stays
-- ?6, ?7, ?8, ?9: number, state, attempt and owner that are expected
-- Index: the primary key
update life
   set lease = ?1,
       lease_expires = ?2,
       progress = ifnull(?3, progress),
       has_checkpoint = ifnull(?4, has_checkpoint),
       updated_at = ifnull(?5, updated_at)
 where number = ?6 and state = ?7 and attempt = ?8 and owner is ?9;

-- name: effects_finish
-- The task has ended. The owner of its last attempt and the beginning of that attempt stay, the lease is cleared.
-- ?1 integer: state
-- ?2 integer: tries
-- ?3 real: progress; null: it stays
-- ?4 integer: whether there is a checkpoint; null: as before
-- ?5 integer: 1 if ?6 replaces the result
-- ?6 text: result
-- ?7 text: reason of a cancel
-- ?8 integer: event by which the newest ended attempt did so
-- ?9 text: owner of that attempt
-- ?10 integer: updated_at, µs
-- ?11, ?12, ?13, ?14: number, state, attempt and owner that are expected
-- Index: the primary key
update life
   set state = ?1,
       tries = ?2,
       progress = ifnull(?3, progress),
       has_checkpoint = ifnull(?4, has_checkpoint),
       result = case ?5 when 1 then ?6 else result end,
       cancel_reason = ?7,
       token = null,
       lease = null,
       lease_expires = null,
       ended_event = ?8,
       ended_owner = ?9,
       updated_at = ?10
 where number = ?11 and state = ?12 and attempt = ?13 and owner is ?14;

-- name: effects_give_back
-- The task waits for its next attempt: ready with the rank that it had, or scheduled without one.
-- ?1 integer: state
-- ?2 integer: run_at, µs; null: it stays
-- ?3 integer: 1 if it keeps its rank
-- ?4 integer: tries
-- ?5 real: progress; null: it stays
-- ?6 integer: whether there is a checkpoint; null: as before
-- ?7 integer: 1 if ?8 replaces the result
-- ?8 text: result
-- ?9 integer: event by which the attempt ended
-- ?10 text: owner of the attempt
-- ?11 integer: updated_at, µs
-- ?12, ?13, ?14, ?15: number, state, attempt and owner that are expected
-- Index: the primary key
update life
   set state = ?1,
       run_at = ifnull(?2, run_at),
       rank = case ?3 when 1 then rank end,
       ready_second = case ?3 when 1 then ready_second end,
       tries = ?4,
       progress = ifnull(?5, progress),
       has_checkpoint = ifnull(?6, has_checkpoint),
       result = case ?7 when 1 then ?8 else result end,
       owner = null,
       started_at = null,
       token = null,
       lease = null,
       lease_expires = null,
       ended_event = ?9,
       ended_owner = ?10,
       updated_at = ?11
 where number = ?12 and state = ?13 and attempt = ?14 and owner is ?15;

-- name: effects_save_checkpoint
-- ?1 integer: task
-- ?2 text: checkpoint
-- Index: the primary key
insert or replace into checkpoint (number, json)
values (?1, ?2);

-- name: effects_drop_checkpoint
-- ?1 integer: task
-- Index: the primary key
delete from checkpoint
 where number = ?1;

-- name: effects_save_error
-- ?1 integer: task
-- ?2 integer: place in the list of its errors
-- ?3 text: code
-- ?4 text: args
-- ?5 text: description
-- Index: the primary key
insert into error (number, place, code, args, description)
values (?1, ?2, ?3, ?4, ?5);
