-- What a tick reads of tasks, and places in queues.

-- name: cluster_next_due
-- Of tasks and schedules.
-- Index: life_due and schedule_due, at their beginnings
select min(at)
  from (select min(run_at) as at
          from life
         where state = 0
        union all
        select min(next_at)
          from schedule
         where next_at is not null);

-- name: cluster_has_lease
-- Index: life_lease, one entry
select 1
  from life
 where state = 2
 limit 1;

-- name: cluster_token_version
-- Index: none, the table has one row
select token_version
  from control;

-- name: cluster_has_ready
-- ?1 integer: queue
-- Index: life_ready, one entry
select 1
  from life
 where state = 1 and queue = ?1
 limit 1;

-- name: cluster_place
-- The place of a ready task in its queue.
-- ?1 blob: id
-- Index: that of the ids
select life.queue, rank, ready_second, number
  from task join life using (number)
 where id = ?1 and state = 1;

-- name: cluster_before
-- How many tasks are claimed before that place, up to a limit.
-- ?1 integer: queue
-- ?2, ?3, ?4 integer: rank, second and number of the place
-- ?5 integer: the limit
-- Index: life_ready, whose order this is: no more is read than is counted
select count(*)
  from (select 1
          from life
         where state = 1 and queue = ?1 and (rank, ready_second, number) < (?2, ?3, ?4)
         order by rank, ready_second, number
         limit ?5);
