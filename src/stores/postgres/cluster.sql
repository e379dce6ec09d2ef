-- Nodes, and what they ask each second.

-- name: tick
-- All that a node writes and reads each second. It writes only what has changed or is too old, because ticks may come
-- ten times a second, and names are sorted, so that two nodes cannot deadlock. Nothing of it has to survive a crash: it
-- waits neither for the disk nor for standbys.
-- $1 text: id of the node
-- $2 text: its address
-- $3 text: its version
-- $4 boolean: it wants events
-- $5 text[]: names of the queues that claims wait for there
-- $6 bigint: how old such a note may be, ns
-- $7 bigint: how old the last tick of a living node may be, ns
-- Index: node_pkey, awaited_pkey; scheduled_due, schedule_due, running_expires and ready_order, the first row of each
-- Locks: the row of the node; the rows of awaited, in the order of their names
with wish as materialized (
  select distinct name
    from unnest($5::text[]) as w(name)
), here as (
  insert into node (id, address, version, wants_events, started_at, last_seen)
  select $1, $2, $3, $4, now, now
    from (select horae_now() as now) as c
   where not exists (
           select
             from node
            where id = $1 and address = $2 and version = $3 and wants_events = $4
              and last_seen > (select horae_now()) - interval '900 milliseconds')
      on conflict (id) do update
     set address = excluded.address,
         version = excluded.version,
         wants_events = excluded.wants_events,
         last_seen = excluded.last_seen
), waiting as (
  insert into awaited (queue, at)
  select name, (select horae_now())
    from wish
   where not exists (
           select
             from awaited
            where awaited.queue = wish.name
              and awaited.at > (select horae_now()) - $6::bigint / 1000 * interval '1 microsecond')
   order by name
      on conflict (queue) do update set at = excluded.at
)
select horae_now(),
       peers.count,
       peers.want_events,
       least((select due from scheduled order by due limit 1),
             (select next_at from schedule where next_at is not null order by next_at limit 1)),
       (select expires from running order by expires limit 1) is not null,
       array(
         select q.name
           from wish
           join queue as q on q.name = wish.name and not q.paused
          cross join lateral (
                  select
                    from ready
                   where ready.queue = q.no
                   order by ready.queue, ready.rank, ready.at, ready.lo + 0
                   limit 1) as head
          where not control.stopped
          order by q.name),
       control.token_version,
       set_config('synchronous_commit', 'off', true)
  from control, (
         select count(*), coalesce(bool_or(wants_events), false) as want_events
           from node
          where id <> $1 and last_seen >= (select horae_now()) - $7::bigint / 1000 * interval '1 microsecond') as peers;

-- name: forget_nodes
-- $1 bigint: age, ns
-- Index: none, the table is small
-- Locks: the rows that it deletes
delete from node
 where last_seen < (select horae_now()) - $1::bigint / 1000 * interval '1 microsecond';

-- name: forget_awaited
-- Names of queues that do not exist: workers send them, and any name may be waited for.
-- $1 bigint: age, ns
-- Index: queue_name_key
-- Locks: the rows that it deletes
delete from awaited
 where at < (select horae_now()) - $1::bigint / 1000 * interval '1 microsecond'
   and not exists (select from queue where queue.name = awaited.queue);

-- name: nodes
-- $1 bigint: how long ago the last tick may be, ns
-- Index: none, the table is small
-- Locks: none
select id, address, version, started_at, last_seen
  from node
 where last_seen >= (select horae_now()) - $1::bigint / 1000 * interval '1 microsecond'
 order by started_at, id collate "C";

-- name: leave
-- $1 text: id of the node
-- Index: node_pkey
-- Locks: the row
delete from node
 where id = $1;

-- name: last_awaited
-- $1 text: name of the queue
-- Index: awaited_pkey
-- Locks: none
select at
  from awaited
 where queue = $1;

-- name: ahead
-- How many ready tasks come before this one in its queue. Each range has one task at least, so it reads no more ranges
-- than it is asked for.
-- $1 bigint: number of the task
-- $2 bigint: how many ranges to read at most
-- Index: ready_pkey for the range of the task; ready_order for those before it, from the head of the queue
-- Locks: none
select mine.task - mine.lo + coalesce((
         select sum(before.hi - before.lo + 1)::bigint
           from (
             select lo, hi
               from ready
              where ready.queue = mine.queue
                and (ready.rank, ready.at, ready.lo + 0) < (mine.rank, mine.at, mine.lo)
              order by ready.queue, ready.rank, ready.at, ready.lo + 0
              limit $2::bigint) as before), 0)
  from (
    select $1::bigint as task, *
      from ready
     where lo > $1::bigint - 64 and lo <= $1::bigint
     order by lo desc
     limit 1) as mine
 where mine.hi >= $1::bigint;
