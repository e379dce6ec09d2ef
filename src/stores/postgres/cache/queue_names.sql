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
-- A name that comes for several tokens is made for the first one that may.
-- $1 text[]: names
-- $2 bigint: rate of ageing
-- $3 bigint: retention, ns
-- $4 bigint: how many queues there may be
-- $5 text[]: the token on whose account each is made, or null
-- $6 bigint[]: how many queues that token may have made
-- Index: queue_name_key
-- Locks: the new rows; the table is locked already
insert into queue (name, rate, retention, made_by, made_at)
select name, $2, $3, maker, horae_now()
  from (
    select w.name, w.maker, w.most, w.place, row_number() over (partition by w.maker order by w.place) as nth
      from unnest($1::text[], $5::text[], $6::bigint[]) with ordinality as w(name, maker, most, place)
     where not exists (select from queue where queue.name = w.name)) as wanted
 where maker is null
    or nth <= most - (select count(*) from queue where queue.made_by = wanted.maker)
 order by place
 limit greatest($4 - (select count(*) from queue), 0)
    on conflict (name) do nothing;

-- name: queue_is_full
-- $1 bigint: how many queues there may be
-- Index: none
-- Locks: none
select count(*) >= $1::bigint
  from queue;
