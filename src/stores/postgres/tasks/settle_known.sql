-- Settlements of leases that the node knows. A lease that is not as it knows it stays as it is; the statements answer
-- those that they changed, and set horae.unmet for the rest of the transaction if it was not all of them: claims are put
-- off then. A write that changes another number of rows than it must makes the statement fail: a trigger
-- or another program changes this database.

-- name: lock_known
-- Before several of the statements below, which lock in their own orders.
-- $1 bigint[]: first numbers of the leases
-- Index: running_pkey
-- Locks: the ranges, in the order of their numbers
select lo
  from running
 where lo = any($1::bigint[])
 order by lo
   for update;

-- name: complete_one
-- As complete_whole, of one lease.
-- $1 bigint: its first number
-- $2 bigint: its last number
-- $3 integer: attempt
-- $4 text: owner
-- $5 text[]: results, or null
-- Index: running_pkey
-- Locks: the range
with gone as (
  delete from running
   where lo = $1::bigint and hi = $2::bigint and attempt = $3::integer and owner = $4::text and recurring is null
  returning queue, tries, run_at, started_at
), ended as (
  insert into finished (lo, hi, queue, attempt, tries, run_at, ended_event, state, owner, started_at, results,
                        finished_at)
  select $1::bigint, $2::bigint, queue, $3::integer, tries, run_at, 4, 3, $4::text, started_at, $5::text[], horae_now()
    from gone
  returning queue
), counted as (
  insert into tally (queue, state, n)
  select queue, 3, $2::bigint - $1::bigint + 1
    from ended
  returning n
)
select $1::bigint, $2::bigint
 where case
         when not exists (select from gone) then set_config('horae.unmet', 'on', true) is null
         when exists (select from counted) then true
         else ('rows that a trigger or another program keeps from being changed, of ' || (select count(*) from gone))::boolean
       end;

-- name: complete_whole
-- Completes all tasks of leases: moves running ranges to finished. All statements lock running ranges in the order of
-- their numbers; here it is that of the list, which ascends, or of the index, as the planner likes; the array keeps it
-- from reading the whole table. After a wait for the lock the statement sees the lease as it is then: an extended one
-- still fits, a cut one is gone. The clock is read for each of them, once it is locked. The number 0 belongs to no task
-- and fills the list up.
-- Values: the leases, in the order of their numbers; `results` is an array or null
-- Index: running_pkey
-- Locks: the ranges, in the order of their numbers
with told(lo, hi, attempt, owner, results) as (
  values (:lo, :hi, :attempt, :owner, :results)
), gone as (
  delete from running
   using told
   where running.lo = any(array(select lo from told))
     and running.lo = told.lo
     and running.hi = told.hi
     and running.attempt = told.attempt
     and running.owner = told.owner
     and running.recurring is null
  returning running.*, told.results
), ended as (
  insert into finished (lo, hi, queue, attempt, tries, run_at, ended_event, state, owner, started_at, results,
                        finished_at)
  select lo, hi, queue, attempt, tries, run_at, 4, 3, owner, started_at, results, horae_now()
    from gone
  returning 1
), counted as (
  insert into tally (queue, state, n)
  select queue, 3, sum(hi - lo + 1)
    from gone
   group by queue
  returning 1
), checked as materialized (
  select case
           when (select count(*) from ended) = count(*) and (select count(*) from counted) = count(distinct queue)
             then 0
           else ('rows that a trigger or another program keeps from being changed, of ' || count(*))::integer
         end as difference,
         case
           when count(*) < (select count(*) from told where lo > 0) then set_config('horae.unmet', 'on', true)
         end as unmet
    from gone
)
select lo, hi
  from gone
 where (select difference from checked) = 0;

-- name: complete_parts
-- Completes some tasks of leases, and extends others of them. The leases are deleted; what is kept of them comes again.
-- $1 bigint[]: first numbers of the leases
-- $2 bigint[]: their last numbers
-- $3 integer[]: attempts
-- $4 text[]: owners
-- $5 bigint[]: the lease of each part that is kept
-- $6 bigint[]: first numbers of these parts
-- $7 bigint[]: their last numbers
-- $8 boolean[]: whether they are extended
-- $9 bigint[]: the new lengths of their leases, ns; null: as it was
-- Values: the completed parts, each with the first number of its lease; `results` is an array or null
-- Index: running_pkey
-- Locks: the ranges, in the order of their numbers; by lock_known
with done(lease, lo, hi, results) as (
  values (:lease, :lo, :hi, :results)
), told as (
  select *
    from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::text[]) as t(lo, hi, attempt, owner)
), gone as (
  delete from running
   using told
   where running.lo = any($1::bigint[])
     and running.lo = told.lo
     and running.hi = told.hi
     and running.attempt = told.attempt
     and running.owner = told.owner
     and running.recurring is null
  returning running.*
), kept as (
  insert into running (lo, hi, queue, rank, at, attempt, tries, owner, token, length, started_at, expires, max_attempts,
                       recurring, run_at, ended_event, ended_owner)
  select k.lo, k.hi, g.queue, g.rank, g.at, g.attempt, g.tries, g.owner, g.token, coalesce(k.length, g.length), g.started_at,
         case
           when k.extended then horae_now() + (coalesce(k.length, g.length) + 999) / 1000 * interval '1 microsecond'
           else g.expires
         end,
         g.max_attempts, g.recurring, g.run_at, g.ended_event, g.ended_owner
    from gone as g
    join unnest($5::bigint[], $6::bigint[], $7::bigint[], $8::boolean[], $9::bigint[]) as k(lease, lo, hi, extended, length)
      on k.lease = g.lo
  returning lo, hi, expires
), ended as (
  insert into finished (lo, hi, queue, attempt, tries, run_at, ended_event, state, owner, started_at, results,
                        finished_at)
  select d.lo, d.hi, g.queue, g.attempt, g.tries, g.run_at, 4, 3, g.owner, g.started_at, d.results, horae_now()
    from gone as g
    join done as d on d.lease = g.lo
   where d.lo > 0
  returning lo, hi, queue
), counted as (
  insert into tally (queue, state, n)
  select queue, 3, sum(hi - lo + 1)
    from ended
   group by queue
  returning 1
), checked as materialized (
  select case
           when coalesce(sum(hi - lo + 1), 0) = (select coalesce(sum(hi - lo + 1), 0) from ended)
                                              + (select coalesce(sum(hi - lo + 1), 0) from kept)
             and (select count(*) from counted) = (select count(distinct queue) from ended)
             then 0
           else ('rows that a trigger or another program keeps from being changed, of ' || count(*))::integer
         end as difference,
         case when count(*) < cardinality($1::bigint[]) then set_config('horae.unmet', 'on', true) end as unmet
    from gone
)
select lo, hi, null::timestamptz as expires
  from ended
 where (select difference from checked) = 0
union all
select lo, hi, expires
  from kept;

-- name: extend_whole
-- Heartbeats of all tasks of leases, with what they bring. The clock is read for each lease, once it is locked.
-- $1 bigint[]: numbers of tasks that report something
-- $2 bigint[]: the first numbers of their leases
-- $3 integer[]: their attempts
-- $4 double precision[]: progress; null if none was reported
-- $5 text[]: checkpoints; null if none was reported
-- Values: the leases, in the order of their numbers; a length of null: as it was
-- Index: running_pkey, progress_pkey
-- Locks: the ranges, in the order of their numbers; the rows of progress
with told(lo, hi, attempt, owner, length) as (
  values (:lo, :hi, :attempt, :owner, :length)
), beaten as (
  update running
     set expires = horae_now() + (coalesce(told.length, running.length) + 999) / 1000 * interval '1 microsecond',
         length = coalesce(told.length, running.length)
    from told
   where running.lo = any(array(select lo from told))
     and running.lo = told.lo
     and running.hi = told.hi
     and running.attempt = told.attempt
     and running.owner = told.owner
  returning running.lo, running.hi, running.expires
), reported as materialized (
  select r.number, r.attempt, r.progress, r.checkpoint
    from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::double precision[], $5::text[])
         as r(number, lease, attempt, progress, checkpoint)
    join beaten on beaten.lo = r.lease
), saved as (
  insert into progress (number, attempt, progress, checkpoint, updated_at)
  select number, attempt, progress, checkpoint, (select horae_now())
    from reported
      on conflict (number) do update
     set attempt = excluded.attempt,
         progress = coalesce(excluded.progress, progress.progress),
         checkpoint = coalesce(excluded.checkpoint, progress.checkpoint),
         updated_at = excluded.updated_at
  returning 1
), checked as materialized (
  select case
           when (select count(*) from saved) = count(*) then 0
           else ('rows that a trigger or another program keeps from being changed, of ' || count(*))::integer
         end as difference,
         case
           when (select count(*) from beaten) < (select count(*) from told where lo > 0)
             then set_config('horae.unmet', 'on', true)
         end as unmet
    from reported
)
select lo, hi, expires
  from beaten
 where (select difference from checked) = 0;
