-- Numbers of queues by their names.

-- name: queue_find
-- $1 text[]: names
-- Index: queue_name_key
-- Locks: none
select name, no
  from queue
 where name = any($1);

-- name: queue_name_of
-- $1 integer: number of the queue
-- Index: queue_pkey
-- Locks: none
select name
  from queue
 where no = $1;

-- name: queue_lock
-- Keeps other transactions from making or changing queues until the end of this one, so that the count in queue_make is
-- exact. Readers continue, and so do transactions that lock a row to configure it.
-- Index: none
-- Locks: the table queue in share row exclusive mode
lock table queue in share row exclusive mode;

-- name: queue_make
-- $1 text[]: names, each once
-- $2 bigint: rate of ageing
-- $3 bigint: retention, ns
-- $4 bigint: how many queues there may be
-- Index: queue_name_key
-- Locks: the new rows; the table is locked already
insert into queue (name, rate, retention)
select name, $2, $3
  from unnest($1) with ordinality as wanted(name, place)
 where not exists (select from queue where queue.name = wanted.name)
 order by place
 limit greatest($4 - (select count(*) from queue), 0);
