-- Storing new tasks.

-- name: submit_life
-- ?1 integer: number
-- ?2 integer: queue
-- ?3 integer: state
-- ?4 integer: run_at, µs
-- ?5 integer: interval of a recurring task, ns
-- ?6 integer: rank of a ready task
-- ?7 integer: second in which it became ready
-- ?8 integer: now, µs
-- Index: the primary key, and that of the state
insert into life (number, queue, state, run_at, recurring, rank, ready_second, attempt, tries, progress,
                  has_checkpoint, updated_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, 0.0, 0, ?8);

-- name: submit_start
-- Starts the first attempt, as claim_lease does.
-- ?1 text: owner
-- ?2 blob: token of the claim
-- ?3 integer: length of the lease, ns
-- ?4 integer: end of the lease, µs
-- ?5 integer: now, µs
-- ?6 integer: task
-- Index: the primary key
update life
   set state = 2,
       attempt = 1,
       owner = ?1,
       token = ?2,
       lease = ?3,
       lease_expires = ?4,
       started_at = ?5
 where number = ?6 and state = 1;

-- name: submit_find_id
-- ?1 blob: digest of the request
-- ?2 blob: id
-- Index: that of the ids
select task.id, number, state, digest = ?1
  from task join life using (number)
 where id = ?2;

-- name: submit_find_key
-- ?1 blob: digest of the request
-- ?2 integer: queue
-- ?3 text: key
-- Index: task_key
select task.id, number, state, digest = ?1
  from task join life using (number)
 where task.queue = ?2 and key = ?3;
