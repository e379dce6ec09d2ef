-- Delayed messages. Times are µs since 1970.

-- name: message_find
-- ?1 text: delay queue
-- ?2 text: id
-- Index: the unique one on (delay_queue, id)
select source_partition, source_offset, due, may_be_published, readied_at is not null
  from message
 where delay_queue = ?1 and id = ?2;

-- name: message_insert
-- ?1 text: delay queue
-- ?2 text: id
-- ?3 integer: deadline
-- ?4 integer: when it is readied; null if it waits
-- ?5 blob: by which node
-- ?6 integer: partition of its record; below 0: there is none
-- ?7 integer: offset of its record
-- ?8 text: headers
-- ?9 blob: key
-- ?10 blob: value
-- Index: the unique one on (delay_queue, id)
insert into message (delay_queue, id, deadline, due, readied_at, readied_by, source_partition, source_offset, headers,
                     key, value)
values (?1, ?2, ?3, ?3, ?4, ?5, iif(?6 < 0, null, ?6), iif(?6 < 0, null, ?7), ?8, ?9, ?10);

-- name: message_waiting
-- ?1 text: delay queue
-- ?2 integer: the latest due time
-- ?3 integer: how many
-- Index: message_due, whose order this is
select id, deadline, key, value, headers, due
  from message
 where delay_queue = ?1 and due <= ?2 and readied_at is null
 order by due, id
 limit ?3;

-- name: message_ready
-- ?1 integer: now
-- ?2 blob: node
-- ?3 text: delay queue
-- ?4 text: id
-- Index: the unique one on (delay_queue, id)
update message
   set readied_at = ?1,
       readied_by = ?2
 where delay_queue = ?3 and id = ?4 and readied_at is null;

-- name: message_first_waiting
-- ?1 text: delay queue
-- Index: message_due, whose order this is
select due
  from message
 where delay_queue = ?1 and readied_at is null
 order by due
 limit 1;

-- name: message_any
-- ?1 text: delay queue
-- Index: message_due
select 1
  from message
 where delay_queue = ?1
 limit 1;

-- name: message_remove
-- ?1 text: delay queue
-- ?2 text: id
-- ?3 integer: when it was readied
-- ?4 blob: by which node
-- Index: the unique one on (delay_queue, id)
delete from message
 where delay_queue = ?1 and id = ?2 and readied_at = ?3 and readied_by = ?4;

-- name: message_give_back
-- ?1 text: delay queue
-- ?2 text: id
-- ?3 integer: when it was readied
-- ?4 blob: by which node
-- ?5 integer: not due before; null for its deadline
-- ?6 integer: it may be published
-- Index: the unique one on (delay_queue, id)
update message
   set readied_at = null,
       readied_by = null,
       due = max(deadline, ifnull(?5, deadline)),
       may_be_published = max(may_be_published, ?6)
 where delay_queue = ?1 and id = ?2 and readied_at = ?3 and readied_by = ?4;

-- name: message_reset
-- ?1 text: delay queue
-- ?2 text: id
-- ?3 integer: when it was readied
-- ?4 blob: by which node
-- Index: the unique one on (delay_queue, id)
update message
   set readied_at = null,
       readied_by = null,
       may_be_published = 1
 where delay_queue = ?1 and id = ?2 and readied_at = ?3 and readied_by = ?4;

-- name: message_walk
-- For a page: all messages from a place on. The reader leaves out what is not asked for, and stops.
-- ?1 text: delay queue
-- ?2 integer: due time of the place
-- ?3 text: id of the place
-- ?4 integer: the latest due time
-- ?5 integer: how many
-- Index: message_due, whose order this is
select id, deadline, key, value, headers, due, source_partition, source_offset, readied_at, readied_by
  from message
 where delay_queue = ?1 and (due, id) > (?2, ?3) and due <= ?4
 order by due, id
 limit ?5;

-- name: message_get
-- ?1 text: delay queue
-- ?2 text: id
-- Index: the unique one on (delay_queue, id)
select id, deadline, key, value, headers, due, source_partition, source_offset, readied_at, readied_by
  from message
 where delay_queue = ?1 and id = ?2;

-- name: message_cancel
-- ?1 text: delay queue
-- ?2 text: id
-- Index: the unique one on (delay_queue, id)
delete from message
 where delay_queue = ?1 and id = ?2 and readied_at is null;

-- name: message_move
-- ?1 text: delay queue
-- ?2 text: id
-- ?3 integer: deadline
-- Index: the unique one on (delay_queue, id)
update message
   set deadline = ?3,
       due = ?3,
       may_be_published = 0
 where delay_queue = ?1 and id = ?2 and readied_at is null;

-- name: message_counts
-- ?1 text: delay queue
-- ?2 integer: what is due until then is overdue if it waits
-- ?3 integer: how many at most
-- Index: message_due, whose order this is
select count(*) filter (where readied_at is null),
       count(*) filter (where readied_at is not null),
       count(*) filter (where readied_at is null and due <= ?2),
       min(due) filter (where readied_at is null)
  from (
    select readied_at, due
      from message
     where delay_queue = ?1
     order by due, id
     limit ?3);
