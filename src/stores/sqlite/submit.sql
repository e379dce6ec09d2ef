-- Storing new tasks.

-- name: submit_task
-- Ignored on a taken id (the unique index of the ids) or key (task_key): the task there is left alone.
-- ?1 integer: number
-- ?2 blob: id
-- ?3 integer: queue
-- ?4 text: key
-- ?5 integer: priority
-- ?6 integer: now, µs
-- ?7 integer: max_attempts
-- ?8 integer: kind of the retry policy
-- ?9 integer: its delay, ns
-- ?10 real: its factor
-- ?11 integer: its cap, ns
-- ?12 real: its jitter
-- ?13 blob: digest of the request
-- ?14 text: spec
-- Index: the primary key, that of the ids, and task_key
insert or ignore into task (number, id, queue, key, priority, created_at, max_attempts, retry_kind, retry_delay,
                            retry_factor, retry_cap, retry_jitter, digest, spec)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14);

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
