-- Delayed messages. Rows are locked in the order of their ids, but for those that are taken: they are skipped if another
-- transaction holds them. Durations are ns.
--
-- Plans are made once for each session, often while the table is empty and was never analyzed. So each search has one
-- index that it can use: by the queue and the id message_pkey, by the due time message_due, which is over expressions
-- (delay_queue || '', due, id || ''). And what is changed row by row is searched in a lateral query and then found by
-- its place (ctid), with the readying that is expected: a row that has moved meanwhile was changed by another
-- transaction, and has another readying.

-- name: message_enqueue
-- The first row of the answer is the time; then come those that are stored, and those that were there before, by the
-- snapshot of the statement. What is neither was late, or came in between.
-- $1 text: delay queue
-- $2 uuid: node
-- $3 bigint: advance
-- $4 bigint: advance and horizon
-- $5 boolean: stores what is late
-- $6 text[]: ids, each once, ascending
-- $7 timestamptz[]: deadlines
-- $8 boolean[]: may be readied
-- $9 integer[]: partitions
-- $10 bigint[]: offsets
-- $11 text[]: headers
-- $12 bytea[]: keys
-- $13 bytea[]: values
-- $14 bigint: the longest advance of any node
-- Index: message_pkey
-- Locks: the new rows, in the order of their ids; an insert of the same id that is not committed yet is waited for
with clock as materialized (
  select horae_now() as now
), present as materialized (
  select w.id, m.source_partition, m.source_offset,
         m.may_be_published or m.due <= clock.now + $14::bigint / 1000 * interval '1 microsecond' as firing
    from clock
   cross join unnest($6::text[]) as w(id)
   cross join lateral (
           select due, may_be_published, source_partition, source_offset
             from message
            where delay_queue = $1::text and message.id = w.id
            limit 1) as m
), said as (
  select w.*, clock.now,
         w.may_ready and w.deadline <= clock.now + $4::bigint / 1000 * interval '1 microsecond' as soon
    from clock
   cross join unnest($6::text[], $7::timestamptz[], $8::boolean[], $9::integer[], $10::bigint[], $11::text[],
                     $12::bytea[], $13::bytea[])
           with ordinality
           as w(id, deadline, may_ready, source_partition, source_offset, headers, key, value, place)
   where $5::boolean or w.deadline > clock.now + $3::bigint / 1000 * interval '1 microsecond'
), stored as (
  insert into message (delay_queue, id, deadline, due, readied_at, readied_by, source_partition, source_offset, headers,
                       key, value)
  select $1::text, id, deadline, deadline, case when soon then now end, case when soon then $2::uuid end,
         source_partition, source_offset, headers, key, value
    from said
   order by place
      on conflict (delay_queue, id) do nothing
  returning id, readied_at is not null as is_ready
)
select now, null::text, null::boolean, null::boolean, null::integer, null::bigint
  from clock
 union all
select null, id, true, is_ready, null, null
  from stored
 union all
select null, id, false, firing, source_partition, source_offset
  from present;

-- name: message_remove
-- $1 text: delay queue
-- $2 text[]: ids, each (id, when, by) once, ascending
-- $3 timestamptz[]: when they were readied
-- $4 uuid[]: by which node
-- Index: message_pkey
-- Locks: the rows
delete from message
 using unnest($2::text[], $3::timestamptz[], $4::uuid[]) with ordinality as w(id, at, node, place)
 cross join lateral (
         select m.ctid as row
           from message as m
          where m.delay_queue = $1::text and m.id = w.id
          limit 1) as found
 where message.ctid = found.row and readied_at = w.at and readied_by = w.node
returning w.place;

-- name: message_give_back
-- $1 text: delay queue
-- $2 text[]: ids, each (id, when, by) once, ascending
-- $3 timestamptz[]: when they were readied
-- $4 uuid[]: by which node
-- $5 bigint[]: delays, the advance included; null where the deadline counts
-- $6 boolean[]: may be published
-- Index: message_pkey
-- Locks: the rows
with clock as materialized (
  select horae_now() as now
)
update message
   set readied_at = null,
       readied_by = null,
       due = greatest(deadline, (select now from clock) + w.delay / 1000 * interval '1 microsecond'),
       may_be_published = may_be_published or w.unsure
  from unnest($2::text[], $3::timestamptz[], $4::uuid[], $5::bigint[], $6::boolean[])
         with ordinality as w(id, at, node, delay, unsure, place)
 cross join lateral (
         select m.ctid as row
           from message as m
          where m.delay_queue = $1::text and m.id = w.id
          limit 1) as found
 where message.ctid = found.row and readied_at = w.at and readied_by = w.node
returning w.place, message.due;

-- name: message_reset
-- $1 text: delay queue
-- $2 text[]: ids, each (id, when, by) once, ascending
-- $3 timestamptz[]: when they were readied
-- $4 uuid[]: by which node
-- Index: message_pkey
-- Locks: the rows
update message
   set readied_at = null,
       readied_by = null,
       may_be_published = true
  from unnest($2::text[], $3::timestamptz[], $4::uuid[]) with ordinality as w(id, at, node, place)
 cross join lateral (
         select m.ctid as row
           from message as m
          where m.delay_queue = $1::text and m.id = w.id
          limit 1) as found
 where message.ctid = found.row and readied_at = w.at and readied_by = w.node
returning w.place, message.due;

-- name: message_take
-- $1 text: delay queue
-- $2 uuid: node
-- $3 bigint: advance and horizon
-- $4 timestamptz: begin here; null for the beginning
-- $5 bigint: how many
-- $6 bigint: how many bytes
-- Index: message_due, in its order; then by the places of the rows, which are locked
-- Locks: the rows that it looks at; those that another transaction holds are passed over
with clock as materialized (
  select horae_now() as now
), next as materialized (
  select ctid as row, id, due,
         coalesce(octet_length(key), 0) + coalesce(octet_length(value), 0) + octet_length(headers)::bigint as bytes
    from message
   where delay_queue || '' = $1::text
     and due >= coalesce($4::timestamptz, '-infinity')
     and due <= (select now from clock) + $3::bigint / 1000 * interval '1 microsecond'
     and readied_at is null
   order by delay_queue || '', due, id || ''
   limit $5::bigint
     for update skip locked
), line as (
  select row,
         row_number() over (order by due, id) as place,
         sum(bytes) over (order by due, id) as bytes
    from next
), fitting as materialized (
  select row
    from line
   where place = 1 or bytes <= $6::bigint
)
update message
   set readied_at = (select now from clock),
       readied_by = $2::uuid
  from fitting
 where message.ctid = fitting.row and readied_at is null
returning message.id, deadline, key, value, headers, due, readied_at;

-- name: message_next
-- After message_take, whose changes it sees.
-- $1 text: delay queue
-- $2 timestamptz: look for a waiting message from here on; null for the beginning
-- $3 timestamptz: look for any message from here on; null for the beginning
-- Index: message_due, in its order
-- Locks: none
select horae_now(), (
         select due
           from message
          where delay_queue || '' = $1::text and due >= coalesce($2::timestamptz, '-infinity') and readied_at is null
          order by delay_queue || '', due, id || ''
          limit 1), (
         select due
           from message
          where delay_queue || '' = $1::text and due >= coalesce($3::timestamptz, '-infinity')
          order by delay_queue || '', due, id || ''
          limit 1);

-- name: message_stuck
-- The last row says where the look ended because it was long enough, if it did.
-- $1 text: delay queue
-- $2 timestamptz: begin after this due time
-- $3 text: and this id
-- $4 bigint: hold
-- $5 bigint: advance
-- $6 bigint: how many
-- $7 bigint: how many messages are looked at
-- Index: message_due, in its order
-- Locks: none
with clock as materialized (
  select horae_now() as now
), looked as materialized (
  select id, due, readied_at, readied_by
    from message
   where delay_queue || '' = $1::text
     and (due, id || '') > ($2::timestamptz, $3::text)
     and due < (select now from clock) - $4::bigint / 1000 * interval '1 microsecond'
           + $5::bigint / 1000 * interval '1 microsecond'
   order by delay_queue || '', due, id || ''
   limit $7::bigint
), held as (
  select id, due, readied_at, readied_by
    from looked
   where readied_at < (select now from clock) - $4::bigint / 1000 * interval '1 microsecond'
   order by due, id
   limit $6::bigint
)
(select null::timestamptz, id, due, readied_at, readied_by
   from held
  order by due, id)
 union all
(select clock.now, last.id, last.due, null, null
   from clock
   left join (
     select id, due
       from looked
      order by due, id
     offset $7::bigint - 1) as last on true);

-- name: message_walk
-- A page of messages; the last row says where the look ended because it was long enough, if it did.
-- $1 text: delay queue
-- $2 timestamptz: begin after this due time
-- $3 text: and this id
-- $4 bigint: advance and horizon: nothing that is due later; null for everything
-- $5 smallint: 0 only those that wait, 1 only those that are ready, 2 all
-- $6 uuid: only those that this node has readied; null for all
-- $7 bigint: how many, and one more
-- $8 bigint: how many bytes
-- $9 bigint: how many messages are looked at
-- Index: message_due, in its order; message_pkey for those that are answered
-- Locks: none
with clock as materialized (
  select horae_now() as now
), looked as materialized (
  select id, due, readied_by, readied_at is not null as is_ready,
         coalesce(octet_length(key), 0) + coalesce(octet_length(value), 0) + octet_length(headers)::bigint as bytes
    from message
   where delay_queue || '' = $1::text
     and (due, id || '') > ($2::timestamptz, $3::text)
     and due <= coalesce((select now from clock) + $4::bigint / 1000 * interval '1 microsecond', 'infinity')
   order by delay_queue || '', due, id || ''
   limit $9::bigint
), page as (
  select id, due, bytes
    from looked
   where $5::smallint in (2, is_ready::integer)
     and ($6::uuid is null or readied_by = $6::uuid)
   order by due, id
   limit $7::bigint
), line as (
  select id, due,
         row_number() over (order by due, id) as place,
         sum(bytes) over (order by due, id) as bytes
    from page
)
(select null::timestamptz, line.id, line.due, fits, m.deadline, m.key, m.value, m.headers, m.source_partition,
        m.source_offset, m.readied_at, m.readied_by
   from line
  cross join lateral (select place < $7::bigint and (place = 1 or bytes <= $8::bigint) as fits) as f
   left join lateral (
          select *
            from message
           where delay_queue = $1::text and message.id = line.id and fits
           limit 1) as m on true
  order by place)
 union all
(select clock.now, last.id, last.due, null, null, null, null, null, null, null, null, null
   from clock
   left join (
     select id, due
       from looked
      order by due, id
     offset $9::bigint - 1) as last on true);

-- name: message_get
-- $1 text: delay queue
-- $2 text[]: ids
-- Index: message_pkey
-- Locks: none
select w.place, m.id, m.deadline, m.key, m.value, m.headers, m.due, m.source_partition, m.source_offset, m.readied_at,
       m.readied_by
  from unnest($2::text[]) with ordinality as w(id, place)
 cross join lateral (
         select *
           from message
          where delay_queue = $1::text and message.id = w.id
          limit 1) as m;

-- name: message_cancel
-- $1 text: delay queue
-- $2 text[]: ids, each once, ascending
-- Index: message_pkey
-- Locks: the rows
delete from message
 where delay_queue = $1::text and id = any($2::text[]) and readied_at is null
returning id;

-- name: message_move
-- $1 text: delay queue
-- $2 text[]: ids, each once, ascending
-- $3 timestamptz[]: deadlines
-- Index: message_pkey
-- Locks: the rows
update message
   set deadline = ($3::timestamptz[])[array_position($2::text[], id)],
       due = ($3::timestamptz[])[array_position($2::text[], id)],
       may_be_published = false
 where delay_queue = $1::text and id = any($2::text[]) and readied_at is null
returning id;

-- name: message_exists
-- After message_cancel or message_move: sees more than that did, and what was gone or ready when that came to it.
-- $1 text: delay queue
-- $2 text[]: ids
-- Index: message_pkey
-- Locks: none
select w.id
  from unnest($2::text[]) as w(id)
 where exists (
         select
           from message
          where delay_queue = $1::text and message.id = w.id
         offset 0);

-- name: message_counts
-- $1 text: delay queue
-- $2 bigint: advance
-- $3 bigint: how many at most
-- Index: message_due, in its order
-- Locks: none
with clock as materialized (
  select horae_now() as now
), looked as materialized (
  select due, readied_at is null as waits
    from message
   where delay_queue || '' = $1::text
   order by delay_queue || '', due, id || ''
   limit $3::bigint
)
select (select now from clock),
       count(*) filter (where waits),
       count(*) filter (where not waits),
       count(*) filter (
         where waits and due <= (select now from clock) + $2::bigint / 1000 * interval '1 microsecond'),
       min(due) filter (where waits)
  from looked;

-- name: message_look
-- $1 text[]: delay queues
-- $2 timestamptz[]: look for a waiting message of it from here on; null for the beginning
-- $3 timestamptz[]: look for any message of it from here on; null for the beginning
-- Index: message_due, in its order
-- Locks: none
select (select horae_now()), (
         select due
           from message
          where delay_queue || '' = w.name and due >= coalesce(w.waiting, '-infinity') and readied_at is null
          order by delay_queue || '', due, id || ''
          limit 1), (
         select due
           from message
          where delay_queue || '' = w.name and due >= coalesce(w.present, '-infinity')
          order by delay_queue || '', due, id || ''
          limit 1)
  from unnest($1::text[], $2::timestamptz[], $3::timestamptz[]) with ordinality as w(name, waiting, present, place)
 order by w.place;
