-- The rows of tasks: what a client submitted, and what is read together with it.

-- name: insert_plain_tasks
-- Tasks that leave everything but these columns to the defaults, as most do. Only the specs are unnested: each further
-- array would be materialized by itself, and an array of elements of one size finds any of them at once.
-- $1 bigint[]: numbers
-- $2 uuid[]: ids
-- $3 integer[]: queues
-- $4 smallint[]: priorities
-- $5 text[]: specs
-- Index: none; the primary key and the unique one on the id refuse duplicates
-- Locks: the new rows; waits for a transaction that stores the same id
insert into task (number, id, created_at, queue, priority, spec)
select ($1::bigint[])[i], ($2::uuid[])[i], (select horae_now()), ($3::integer[])[i], ($4::smallint[])[i], spec
  from unnest($5::text[]) with ordinality as d(spec, i);

-- name: insert_plain_task
-- As insert_plain_tasks, of one task.
-- $1 bigint: number
-- $2 uuid: id
-- $3 integer: queue
-- $4 smallint: priority
-- $5 text: spec
-- Index: none; the primary key and the unique one on the id refuse duplicates
-- Locks: the new row; waits for a transaction that stores the same id
insert into task (number, id, created_at, queue, priority, spec)
values ($1::bigint, $2::uuid, horae_now(), $3::integer, $4::smallint, $5::text);

-- name: insert_tasks
-- $1 bigint[]: numbers
-- $2 uuid[]: ids
-- $3 integer[]: queues
-- $4 smallint[]: priorities
-- $5 text[]: specs
-- $6 text[]: keys
-- $7 timestamptz[]: due times
-- $8 bigint[]: intervals of recurring tasks, ns
-- $9 integer[]: limits of attempts
-- $10 smallint[]: kinds of retry policies
-- $11 bigint[]: their delays, ns
-- $12 double precision[]: their factors
-- $13 bigint[]: their caps, ns
-- $14 double precision[]: their jitters
-- Index: none; the primary key and the unique one on the id refuse duplicates
-- Locks: the new rows; waits for a transaction that stores the same id
insert into task (number, id, created_at, queue, priority, spec, key, run_at, recurring, max_attempts, retry_kind,
                  retry_delay, retry_factor, retry_cap, retry_jitter)
select number, id, (select horae_now()), queue, priority, spec, key, run_at, recurring, max_attempts, retry_kind,
       retry_delay, retry_factor, retry_cap, retry_jitter
  from unnest($1::bigint[], $2::uuid[], $3::integer[], $4::smallint[], $5::text[], $6::text[], $7::timestamptz[],
              $8::bigint[], $9::integer[], $10::smallint[], $11::bigint[], $12::double precision[], $13::bigint[],
              $14::double precision[])
       as d(number, id, queue, priority, spec, key, run_at, recurring, max_attempts, retry_kind, retry_delay,
            retry_factor, retry_cap, retry_jitter);

-- name: tasks
-- Everything about the tasks with these numbers, in this order.
-- $1 bigint[]: numbers
-- Index: task_pkey, the primary key of each table of the view place, queue_pkey, progress_pkey, turn_pkey
-- Locks: none
select t.number, t.id, q.name, t.key, t.priority, t.spec, p.state, r.progress, t.created_at,
       case when p.state = 2 and r.attempt = p.attempt then r.updated_at else p.updated_at end,
       coalesce(p.run_at, t.run_at, t.created_at), t.recurring, p.attempt, p.tries, t.max_attempts, t.retry_kind,
       t.retry_delay, t.retry_factor, t.retry_cap, t.retry_jitter, p.owner, p.started_at, p.expires,
       coalesce(p.results[t.number - p.lo + 1], u.result), r.checkpoint, p.errors, p.cancel_reason, w.place
  from unnest($1::bigint[]) with ordinality as w(number, place)
  join task as t on t.number = w.number
  join place as p on p.lo > w.number - 64 and p.lo <= w.number and p.hi >= w.number
  join queue as q on q.no = t.queue
  left join progress as r on r.number = w.number
  left join turn as u on u.number = w.number
 order by w.place;

-- name: list_tasks
-- As `tasks`, of those that the query lets through.
-- $1 bigint[]: numbers
-- $2 smallint[]: states
-- $3 text: name of a queue, or null
-- $4 text: owner, or null
-- $5 timestamptz: created at this time or later, or null
-- $6 timestamptz: created before, or null
-- $7 integer[]: queues, or null
-- Index: as `tasks`
-- Locks: none
select t.number, t.id, q.name, t.key, t.priority, t.spec, p.state, r.progress, t.created_at,
       case when p.state = 2 and r.attempt = p.attempt then r.updated_at else p.updated_at end,
       coalesce(p.run_at, t.run_at, t.created_at), t.recurring, p.attempt, p.tries, t.max_attempts, t.retry_kind,
       t.retry_delay, t.retry_factor, t.retry_cap, t.retry_jitter, p.owner, p.started_at, p.expires,
       coalesce(p.results[t.number - p.lo + 1], u.result), r.checkpoint, p.errors, p.cancel_reason, w.place
  from unnest($1::bigint[]) with ordinality as w(number, place)
  join task as t on t.number = w.number
  join place as p on p.lo > w.number - 64 and p.lo <= w.number and p.hi >= w.number
  join queue as q on q.no = t.queue
  left join progress as r on r.number = w.number
  left join turn as u on u.number = w.number
 where ($2::smallint[] is null or p.state = any($2::smallint[]))
   and ($3::text is null or q.name = $3::text)
   and ($4::text is null or p.owner = $4::text)
   and ($5::timestamptz is null or t.created_at >= $5::timestamptz)
   and ($6::timestamptz is null or t.created_at < $6::timestamptz)
   and ($7::integer[] is null or t.queue = any($7::integer[]))
 order by w.place;
