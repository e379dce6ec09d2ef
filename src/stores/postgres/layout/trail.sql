-- The history of tasks.

-- name: lock_late
-- Serializes the late results of one task, and keeps a purge from coming between. A number that is not found was purged.
-- $1 bigint[]: numbers
-- Index: task_pkey
-- Locks: the task rows, in the order of their numbers
select t.number
  from task as t
 where t.number = any($1::bigint[])
 order by t.number
   for no key update;

-- name: read_trail
-- The late results and the assignments that rows of the history hold.
-- $1 bigint[]: numbers
-- Index: trail_pkey
-- Locks: none
select w.number, t.attempt, t.started_at is not null, t.worker
  from unnest($1::bigint[]) as w(number)
  join trail as t on t.lo > w.number - 64 and t.lo <= w.number and t.hi >= w.number
 where t.kind = 4 or (t.kind >= 0 and t.started_at is not null);

-- name: forget_assignments
-- $1 bigint[]: numbers
-- $2 integer[]: the attempt of each
-- Index: trail_pkey
-- Locks: the rows that it deletes
delete from trail
 using unnest($1::bigint[], $2::integer[]) as d(number, attempt)
 where trail.lo = d.number and trail.kind = 0 and trail.attempt = d.attempt;

-- name: prune_trails
-- $1 bigint[]: numbers
-- $2 bigint[]: how many entries of each were omitted before they were written
-- Index: trail_pkey
-- Locks: the rows of the history that it deletes
select horae_prune_trail(d.number, d.omitted)
  from unnest($1::bigint[], $2::bigint[]) as d(number, omitted);
