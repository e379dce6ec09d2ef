-- Tasks by their ids, and their states.

-- name: find_numbers
-- The place of each id in the list, and its number.
-- $1 uuid[]: ids
-- $2 bigint[]: the first number of the day that the id tells
-- $3 bigint[]: the last one; below the first one for an id that tells no day
-- Index: the unique one on the id of the day's partition; task_id_pkey
-- Locks: none
select w.place, t.number
  from unnest($1::uuid[], $2::bigint[], $3::bigint[]) with ordinality as w(id, lo, hi, place)
 cross join lateral (
         select number
           from task
          where task.id = w.id and task.number >= w.lo and task.number <= w.hi
         union all
         select number
           from task_id
          where task_id.id = w.id
          limit 1) as t;

-- name: find_standings
-- The ranges with any of these numbers. Looked up by ranges, because tasks that are settled together mostly have
-- consecutive numbers, and each look-up goes through all tables of the view.
-- $1 bigint[]: first numbers of ranges
-- $2 bigint[]: their last numbers
-- Index: the primary key of each table of the view place
-- Locks: none
select p.lo, p.hi, p.state, p.attempt, p.owner, p.started_at, p.expires, p.ended_event, coalesce(p.ended_owner, p.owner),
       p.queue, horae_now()
  from unnest($1::bigint[], $2::bigint[]) as w(lo, hi)
  join place as p on p.lo > w.lo - 64 and p.lo <= w.hi and p.hi >= w.lo;

-- name: find_queue_names
-- $1 integer[]: numbers of queues
-- Index: queue_pkey
-- Locks: none
select no, name
  from queue
 where no = any($1::integer[]);
