-- What a claim does that found nothing because other transactions hold it.

-- name: wait_for_others
-- Waits until a transaction that holds the head of one of the queues has ended. The claim that follows in the same
-- transaction may take the range that is locked here.
-- $1 integer[]: queues
-- Index: queue_pkey, ready_order
-- Locks: the first range of a queue
select r.lo
  from unnest($1::integer[]) as w(no)
  join queue as q on q.no = w.no and not q.paused
 cross join lateral (
         select lo
           from ready
          where ready.queue = q.no
          order by ready.queue, ready.rank, ready.at, ready.lo + 0
          limit 1
            for update) as r
 where not (select stopped from control)
 limit 1;
