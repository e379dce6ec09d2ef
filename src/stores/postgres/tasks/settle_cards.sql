-- Writes of a batch of settlements.

-- name: save_progress
-- $1 bigint[]: numbers
-- $2 integer[]: attempts that reported
-- $3 double precision[]: progress; null if none was reported
-- $4 text[]: checkpoints; null if none was reported
-- Index: progress_pkey
-- Locks: the rows of progress; the running ranges of these tasks are locked already
insert into progress (number, attempt, progress, checkpoint, updated_at)
select number, attempt, progress, checkpoint, (select horae_now())
  from unnest($1::bigint[], $2::integer[], $3::double precision[], $4::text[]) as d(number, attempt, progress, checkpoint)
    on conflict (number) do update
   set attempt = excluded.attempt,
       progress = coalesce(excluded.progress, progress.progress),
       checkpoint = coalesce(excluded.checkpoint, progress.checkpoint),
       updated_at = excluded.updated_at;

-- name: extend
-- $1 bigint[]: first numbers of ranges
-- $2 bigint[]: the new lengths of their leases, ns
-- Index: running_pkey
-- Locks: the ranges, which are locked already
update running
   set expires = c.now + (d.length + 999) / 1000 * interval '1 microsecond',
       length = d.length
  from (select horae_now() as now) as c,
       unnest($1::bigint[], $2::bigint[]) as d(lo, length)
 where running.lo = d.lo
returning running.lo, running.hi, running.expires;

-- name: save_turns
-- $1 bigint[]: numbers
-- $2 text[]: results of their last turns
-- Index: turn_pkey
-- Locks: the rows of turn; the running ranges of these tasks are locked already
insert into turn (number, result)
select *
  from unnest($1::bigint[], $2::text[])
    on conflict (number) do update set result = excluded.result;

-- name: forget_turns
-- $1 bigint[]: numbers
-- Index: turn_pkey
-- Locks: the rows that it deletes; the running ranges of these tasks are locked already
delete from turn
 where number = any($1::bigint[]);
