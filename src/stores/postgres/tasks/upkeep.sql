-- The engine's loops: promotion, the watch over leases, purging.

-- ---- Promote ----

-- name: lock_due
-- $1 bigint: how many ranges at most
-- Index: scheduled_due, whose order this is
-- Locks: the ranges; it skips those that are locked
select s.lo, s.hi, s.queue, s.attempt, s.tries, s.max_attempts, s.recurring, null::timestamptz, s.ended_event,
       s.ended_owner, s.due, s.priority, s.updated_at
  from scheduled as s
 where s.due <= (select horae_now())
 order by s.due, s.lo + 0
 limit $1::bigint
   for update skip locked;

-- name: promote
-- The rank comes from the queue's ageing and the store's clock (src/model/rank.h). A task whose queue has lost its row
-- becomes ready as well, as in a queue without settings: it must neither be lost nor block the tasks behind it.
-- Values: of each range
-- Index: queue_pkey
-- Locks: the new rows
insert into ready (lo, hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring, run_at, ended_event,
                   ended_owner)
select d.lo, d.hi, d.queue,
       coalesce(q.base, 0) + coalesce(q.rate, 1) * (s.second - coalesce(q.since, 0)) - d.priority,
       s.second, c.now, d.attempt, d.tries, d.max_attempts, d.recurring, d.run_at, d.ended_event, d.ended_owner
  from (select horae_now() as now) as c
 cross join lateral (select floor(extract(epoch from c.now))::bigint as second) as s
 cross join
       (values (:lo, :hi, :queue, :priority, :attempt, :tries, :max_attempts, :recurring, :run_at, :ended_event,
                :ended_owner))
       as d(lo, hi, queue, priority, attempt, tries, max_attempts, recurring, run_at, ended_event, ended_owner)
  left join queue as q on q.no = d.queue
returning queue, rank;

-- name: next_due
-- Index: scheduled_due, the first row
-- Locks: none
select horae_now(), (select due from scheduled order by due limit 1);

-- ---- The monitor ----

-- name: look
-- Index: running_expires, the first row
-- Locks: none
select horae_now(), stamp, (select expires from running order by expires limit 1)
  from control;

-- name: stamp
-- The row stays locked up to the end of the transaction: monitors follow one another.
-- $1 timestamptz: the stamp that was seen
-- Index: none, the table has one row
-- Locks: the row of control
update control
   set stamp = horae_now()
 where stamp is not distinct from $1::timestamptz;

-- name: stamp_and_look
-- As stamp. Answers the new one, and whether a lease is out of sight: see ExpireWish. Such a lease ends after the last
-- stamp, and within twice the time that has passed since, which bounds the scan.
-- $1 timestamptz: the stamp that was seen
-- $2 bigint: the slack, µs
-- Index: running_expires
-- Locks: the row of control
update control
   set stamp = horae_now()
 where stamp = $1::timestamptz
returning stamp, exists (
         select
           from running
          where expires >= $1::timestamptz
            and expires < control.stamp + 2 * (control.stamp - $1::timestamptz)
            and 3 * (control.stamp - $2::bigint * interval '1 microsecond'
                      - greatest($1::timestamptz, expires - (length + 999) / 1000 * interval '1 microsecond'))
                > (length + 999) / 1000 * interval '1 microsecond');

-- name: lock_out_leases
-- Under a new stamp no lease may keep an old end. A transaction that cuts a lease (settle, cancel) leaves pieces with the
-- old one, which a statement that waits for the whole lease does not see. So this waits until no transaction holds a
-- lease, and locks all of them out for the moment of one update; it is rare. A transaction that locks a row holds the
-- table in a mode that this one excludes, so no row is locked when it is granted, and rows cannot deadlock. Leases that
-- are given out afterwards have their full time anyway.
-- Index: none
-- Locks: the table running in exclusive mode
lock table running in exclusive mode;

-- name: extend_patience
-- Bounds the wait of lock_out_leases, behind which all transactions on leases queue up. A session that holds a lease for
-- longer is stuck: it is better to let the others pass, expire nothing and try again. It is long enough for the server to
-- cancel a vacuum, which is in the way, too (deadlock_timeout, 1 s).
-- Index: none
-- Locks: none
select set_config('lock_timeout', '3s', true);

-- name: extend_all
-- Index: none, all rows
-- Locks: the table, which is locked already
update running
   set expires = (select horae_now()) + (length + 999) / 1000 * interval '1 microsecond';

-- name: extend_out_of_sight
-- Those that stamp_and_look looks for.
-- $1 timestamptz: the stamp before
-- $2 bigint: the slack, µs
-- $3 timestamptz: the new stamp
-- Index: running_expires
-- Locks: the table, which is locked already
update running
   set expires = (select horae_now()) + (length + 999) / 1000 * interval '1 microsecond'
 where expires >= $1::timestamptz
   and expires < $3::timestamptz + 2 * ($3::timestamptz - $1::timestamptz)
   and 3 * ($3::timestamptz - $2::bigint * interval '1 microsecond'
             - greatest($1::timestamptz, expires - (length + 999) / 1000 * interval '1 microsecond'))
       > (length + 999) / 1000 * interval '1 microsecond';

-- name: lock_overdue
-- Those that ended before the stamp, not while the node was on its way from there.
-- $1 bigint: how many ranges at most
-- $2 timestamptz: the stamp
-- Index: running_expires, whose order this is
-- Locks: the ranges; it skips those that are locked
select l.lo, l.hi, l.queue, l.attempt, l.tries, l.max_attempts, l.recurring, l.run_at, l.ended_event, l.ended_owner,
       l.rank, l.at, l.owner, l.token, l.length, l.started_at, l.expires
  from running as l
 where l.expires < $2::timestamptz
 order by l.expires, l.lo + 0
 limit $1::bigint
   for update skip locked;

-- name: progress_of
-- $1 bigint[]: first numbers of ranges
-- $2 bigint[]: their last numbers
-- Index: progress_pkey
-- Locks: none
select p.number, p.progress
  from unnest($1::bigint[], $2::bigint[]) as r(lo, hi)
 cross join lateral (
         select number, progress
           from progress
          where progress.number >= r.lo and progress.number <= r.hi
         offset 0) as p
 where p.progress is not null;

-- name: ids_of
-- $1 bigint[]: first numbers of ranges
-- $2 bigint[]: their last numbers
-- Index: task_pkey
-- Locks: none
select t.number, t.id
  from unnest($1::bigint[], $2::bigint[]) as r(lo, hi)
 cross join lateral (
         select number, id
           from task
          where task.number >= r.lo and task.number <= r.hi
         offset 0) as t;
