-- Rows of new tasks, and the ranges in which they begin.

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
select ($1::bigint[])[i], ($2::uuid[])[i], horae_now(), ($3::integer[])[i], ($4::smallint[])[i], spec
  from unnest($5::text[]) with ordinality as d(spec, i);

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
select number, id, horae_now(), queue, priority, spec, key, run_at, recurring, max_attempts, retry_kind, retry_delay,
       retry_factor, retry_cap, retry_jitter
  from unnest($1::bigint[], $2::uuid[], $3::integer[], $4::smallint[], $5::text[], $6::text[], $7::timestamptz[],
              $8::bigint[], $9::integer[], $10::smallint[], $11::bigint[], $12::double precision[], $13::bigint[],
              $14::double precision[])
       as d(number, id, queue, priority, spec, key, run_at, recurring, max_attempts, retry_kind, retry_delay,
            retry_factor, retry_cap, retry_jitter);

-- name: make_ready
-- Those of the ranges that are due. The rank comes from the queue's ageing and the store's clock (src/model/rank.h).
-- Without the row of the queue there is no rank, and the statement fails: no task is stored where no claim finds it.
-- Values: of each range
-- Index: queue_pkey
-- Locks: the new rows
insert into ready (lo, hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring)
select d.lo, d.hi, d.queue, q.base + q.rate * (s.second - q.since) - d.priority, s.second, horae_now(), 0, 0,
       d.max_attempts, d.recurring
  from (select floor(extract(epoch from horae_now()))::bigint as second) as s,
       (values (:lo, :hi, :queue, :priority, :max_attempts, :recurring, :run_at))
       as d(lo, hi, queue, priority, max_attempts, recurring, run_at)
  left join queue as q on q.no = d.queue
 where d.run_at is null or d.run_at <= horae_now()
returning queue, rank;

-- name: make_running
-- The rank is for the case that it becomes ready again.
-- Values: of each task, with its lease
-- Index: queue_pkey
-- Locks: the new rows
insert into running (lo, hi, queue, rank, at, attempt, tries, owner, token, length, started_at, expires, max_attempts,
                     recurring)
select d.lo, d.lo, d.queue, q.base + q.rate * (s.second - q.since) - d.priority, s.second, 1, 0, d.owner, d.token,
       d.length, horae_now(), horae_now() + (d.length + 999) / 1000 * interval '1 microsecond', d.max_attempts,
       d.recurring
  from (select floor(extract(epoch from horae_now()))::bigint as second) as s,
       (values (:lo, :queue, :priority, :max_attempts, :recurring, :owner, :token, :length))
       as d(lo, queue, priority, max_attempts, recurring, owner, token, length)
  left join queue as q on q.no = d.queue;

-- name: make_scheduled
-- Those of the ranges that are due later. Without the row of the queue the statement fails, as make_ready.
-- Values: of each range
-- Index: queue_pkey
-- Locks: the new rows
insert into scheduled (lo, hi, due, queue, priority, updated_at, attempt, tries, max_attempts, recurring)
select d.lo, d.hi, d.run_at, q.no, d.priority, horae_now(), 0, 0, d.max_attempts, d.recurring
  from (values (:lo, :hi, :queue, :priority, :max_attempts, :recurring, :run_at))
       as d(lo, hi, queue, priority, max_attempts, recurring, run_at)
  left join queue as q on q.no = d.queue
 where d.run_at > horae_now()
returning lo, hi;
