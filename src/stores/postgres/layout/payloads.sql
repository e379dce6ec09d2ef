-- What leased tasks carry.

-- name: payloads
-- $1 bigint[]: first numbers of ranges
-- $2 bigint[]: their last numbers
-- $3 bigint: the lowest of them; with the next one it keeps the scan out of the partitions of other days
-- $4 bigint: the highest of them
-- Index: task_pkey
-- Locks: none
select t.number, t.id, t.priority, t.spec
  from unnest($1::bigint[], $2::bigint[]) as r(lo, hi)
 cross join lateral (
         select number, id, priority, spec
           from task
          where task.number >= r.lo and task.number <= r.hi and task.number >= $3::bigint and task.number <= $4::bigint
         offset 0) as t;

-- name: checkpoints
-- $1 bigint[]: first numbers of ranges
-- $2 bigint[]: their last numbers
-- Index: progress_pkey
-- Locks: none
select p.number, p.checkpoint
  from unnest($1::bigint[], $2::bigint[]) as r(lo, hi)
 cross join lateral (
         select number, checkpoint
           from progress
          where progress.number >= r.lo and progress.number <= r.hi
         offset 0) as p
 where p.checkpoint is not null;

-- name: of_tokens
-- The ranges that are leased under these tokens, one token after the other. Ordered by an expression, because the order
-- of the primary key would tempt the planner to read all of it.
-- $1 uuid[]: tokens
-- Index: claim_token_pkey, running_pkey. A token that does not serve once is looked for in all that is running: that is
-- asked only for a claim whose outcome is unknown
-- Locks: none
select l.lo, l.hi, l.queue, l.attempt, l.expires, l.token, l.owner
  from unnest($1::uuid[]) as w(token)
  left join claim_token as c on c.token = w.token
 cross join lateral (
         select *
           from running
          where c.token is not null
            and running.lo >= c.lo
            and running.lo <= c.hi
            and running.token = w.token
         union all
         select *
           from running
          where c.token is null
            and running.token = w.token) as l
 order by l.lo + 0;
