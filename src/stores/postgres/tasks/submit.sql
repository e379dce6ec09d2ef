-- What a submission may meet: tasks with the same ids or keys.

-- name: guard_keys
-- A transaction that stores the same keys waits here for the first one, and then looks again.
-- $1 integer[]: queues
-- $2 text[]: keys
-- $3 bigint[]: numbers
-- $4 bytea[]: digests of the requests
-- Index: task_key_pkey
-- Locks: the new rows, in the order of queues and keys
insert into task_key (queue, key, number, digest)
select *
  from unnest($1::integer[], $2::text[], $3::bigint[], $4::bytea[])
 order by 1, 2
    on conflict do nothing;

-- name: guard_ids
-- A transaction that stores the same ids waits here for the first one, and then looks again.
-- $1 uuid[]: ids
-- $2 bigint[]: numbers
-- $3 bytea[]: digests of the requests
-- Index: task_id_pkey
-- Locks: the new rows, in the order of the ids
insert into task_id (id, number, digest)
select *
  from unnest($1::uuid[], $2::bigint[], $3::bytea[])
 order by 1
    on conflict do nothing;

-- name: find_keys
-- $1 integer[]: queues
-- $2 text[]: keys
-- Index: task_key_pkey
-- Locks: none
select w.place, k.number, k.digest
  from unnest($1::integer[], $2::text[]) with ordinality as w(queue, key, place)
  join task_key as k on k.queue = w.queue and k.key = w.key;

-- name: find_requests
-- The requests of stored tasks, to compare them with new ones. The digest is there for guarded ids and for keys.
-- $1 bigint[]: numbers
-- Index: task_pkey, queue_pkey, task_id_pkey, task_key_pkey
-- Locks: none
select t.number, t.id, q.name, t.priority, t.spec, t.run_at, t.recurring, t.max_attempts, t.retry_kind, t.retry_delay,
       t.retry_factor, t.retry_cap, t.retry_jitter, coalesce(i.digest, k.digest)
  from unnest($1::bigint[]) as w(number)
  join task as t on t.number = w.number
  join queue as q on q.no = t.queue
  left join task_id as i on i.id = t.id and i.number = t.number
  left join task_key as k on k.queue = t.queue and k.key = t.key and k.number = t.number;
