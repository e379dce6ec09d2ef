-- The nodes, and the queues that claims wait for. Both are written all the time: half of each page is left free, and no column that
-- changes is in an index, so that updates stay in their page.
create table node (
  id           text primary key,  -- of this start of the node
  address      text not null,
  version      text not null,
  wants_events boolean not null,  -- a client reads events there
  started_at   timestamptz not null,
  last_seen    timestamptz not null
) with (fillfactor = 50);

create table awaited (
  queue text primary key,  -- its name: a queue may be waited for before it exists
  at    timestamptz not null
) with (fillfactor = 50);
