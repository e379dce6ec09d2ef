-- Completion of whole leases.

-- name: complete_whole
-- Moves running ranges to finished. All statements lock running ranges in the order of their numbers; here it is that of
-- the list, which ascends, or of the index, as the planner likes; the array keeps it from reading the whole table. After
-- a wait for the lock the statement sees the lease as it is then: an extended one still fits, a cut one is gone. The
-- clock is read for each of them, once it is locked. If one is missing, or its end is not stored or counted, the
-- division fails: Failure::unmet(). The number 0 belongs to no task and fills the list up.
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
)
select 1 / ((select count(*) from gone) = (select count(*) from told where lo > 0)
            and (select count(*) from ended) = (select count(*) from gone)
            and (select count(*) from counted) = (select count(distinct queue) from gone))::integer;
