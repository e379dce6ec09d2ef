-- The rows of tasks: what a client submitted, and what is read together with it.

-- name: task_row_insert
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

-- name: task_row_read
-- ?1 integer: task
-- Index: the primary keys
select number, id, queue.name, key, priority, spec, state, progress, created_at, updated_at, run_at, recurring,
       attempt, tries, max_attempts, retry_kind, retry_delay, retry_factor, retry_cap, retry_jitter, owner, started_at,
       lease_expires, result, cancel_reason, has_checkpoint, trail_omitted
  from task
  join life using (number)
  join queue on queue.no = task.queue
 where number = ?1;
