-- Writes to the tables of states.

-- name: insert_scheduled
-- Values: of each range; an updated_at of null is now; due_in is from now on, in ns, and null where due counts
-- Index: none
-- Locks: the new rows
insert into scheduled (lo, hi, queue, attempt, tries, max_attempts, recurring, ended_event, ended_owner, due, priority,
                       updated_at)
select d.lo, d.hi, d.queue, d.attempt, d.tries, d.max_attempts, d.recurring, d.ended_event, d.ended_owner,
       coalesce(c.now + (d.due_in + 999) / 1000 * interval '1 microsecond', d.due), d.priority,
       coalesce(d.updated_at, c.now)
  from (select horae_now() as now) as c,
       (values (:lo, :hi, :queue, :attempt, :tries, :max_attempts, :recurring, :ended_event, :ended_owner, :due,
                :due_in, :priority, :updated_at))
       as d(lo, hi, queue, attempt, tries, max_attempts, recurring, ended_event, ended_owner, due, due_in, priority,
            updated_at);

-- name: insert_ready
-- Values: of each range; an updated_at of null is now
-- Index: none
-- Locks: the new rows
insert into ready (lo, hi, queue, attempt, tries, max_attempts, recurring, ended_event, ended_owner, run_at, rank, at,
                   updated_at)
select d.lo, d.hi, d.queue, d.attempt, d.tries, d.max_attempts, d.recurring, d.ended_event, d.ended_owner, d.run_at,
       d.rank, d.at, coalesce(d.updated_at, (select horae_now()))
  from (values (:lo, :hi, :queue, :attempt, :tries, :max_attempts, :recurring, :ended_event, :ended_owner, :run_at,
                :rank, :at, :updated_at))
       as d(lo, hi, queue, attempt, tries, max_attempts, recurring, ended_event, ended_owner, run_at, rank, at,
            updated_at);

-- name: insert_running
-- Values: of each range; a started_at of null is now; an expires of null is the length from now on
-- Index: none
-- Locks: the new rows
insert into running (lo, hi, queue, attempt, tries, max_attempts, recurring, ended_event, ended_owner, run_at, rank, at,
                     owner, token, length, started_at, expires)
select d.lo, d.hi, d.queue, d.attempt, d.tries, d.max_attempts, d.recurring, d.ended_event, d.ended_owner, d.run_at,
       d.rank, d.at, d.owner, d.token, d.length, coalesce(d.started_at, c.now),
       coalesce(d.expires, c.now + (d.length + 999) / 1000 * interval '1 microsecond')
  from (select horae_now() as now) as c,
       (values (:lo, :hi, :queue, :attempt, :tries, :max_attempts, :recurring, :ended_event, :ended_owner, :run_at,
                :rank, :at, :owner, :token, :length, :started_at, :expires))
       as d(lo, hi, queue, attempt, tries, max_attempts, recurring, ended_event, ended_owner, run_at, rank, at, owner,
            token, length, started_at, expires)
returning lo, hi, expires;

-- name: insert_finished
-- Values: of each range
-- Index: none
-- Locks: the new rows
insert into finished (lo, hi, queue, attempt, tries, run_at, ended_event, ended_owner, state, owner, started_at, results,
                      errors, cancel_reason, finished_at)
values (:lo, :hi, :queue, :attempt, :tries, :run_at, :ended_event, :ended_owner, :state, :owner, :started_at, :results,
        :errors, :cancel_reason, (select horae_now()));

-- name: count_finished
-- Values: a difference of each queue and state
-- Index: none
-- Locks: the new rows
insert into tally (queue, state, n)
values (:queue, :state, :n);

-- name: insert_trail
-- $1 bigint[]: first numbers
-- $2 bigint[]: last numbers
-- $3 smallint[]: kinds
-- $4 integer[]: attempts
-- $5 text[]: workers
-- $6 timestamptz[]: when the attempts began; null if another row has the assignment
-- $7 timestamptz[]: times of the entries; null is now
-- $8 double precision[]: progress, or null
-- $9 text[]: details, maybe empty
-- Index: none
-- Locks: the new rows
insert into trail (lo, hi, kind, attempt, worker, started_at, at, progress, detail)
select lo, hi, kind, attempt, worker, started_at, coalesce(at, (select horae_now())), progress, nullif(detail, '')
  from unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::integer[], $5::text[], $6::timestamptz[],
              $7::timestamptz[], $8::double precision[], $9::text[])
       as d(lo, hi, kind, attempt, worker, started_at, at, progress, detail);

-- name: delete_scheduled
-- $1 bigint[]: first numbers of ranges
-- Index: scheduled_pkey
-- Locks: the rows, which are locked already
delete from scheduled
 where lo = any($1::bigint[]);

-- name: delete_ready
-- $1 bigint[]: first numbers of ranges
-- Index: ready_pkey
-- Locks: the rows, which are locked already
delete from ready
 where lo = any($1::bigint[]);

-- name: delete_running
-- $1 bigint[]: first numbers of ranges
-- Index: running_pkey
-- Locks: the rows, which are locked already
delete from running
 where lo = any($1::bigint[]);

-- name: reset_progress
-- Progress begins again; the checkpoint stays.
-- $1 bigint[]: first numbers of ranges
-- $2 bigint[]: their last numbers
-- Index: progress_pkey
-- Locks: the rows of progress; the ranges of these tasks are locked already
update progress
   set progress = null
  from unnest($1::bigint[], $2::bigint[]) as r(lo, hi)
 where number >= r.lo and number <= r.hi and progress is not null;

-- name: forget_progress
-- Progress and checkpoint.
-- $1 bigint[]: first numbers of ranges
-- $2 bigint[]: their last numbers
-- Index: progress_pkey
-- Locks: the rows of progress; the ranges of these tasks are locked already
delete from progress
 using unnest($1::bigint[], $2::bigint[]) as r(lo, hi)
 where number >= r.lo and number <= r.hi;
