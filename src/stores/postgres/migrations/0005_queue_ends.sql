-- Queues end. A queue that nobody has configured is forgotten when it has been empty for long enough, and one token makes only so
-- many queues.
alter table queue add column made_by text;  -- the id of the token that made it; null: none, or an administrator
alter table queue add column made_at timestamptz not null default now();
alter table queue add column configured boolean not null default false;

-- Of queues that are older than this column, only those whose settings are the defaults may be forgotten.
update queue
   set configured = true
 where paused or base <> 0 or rate <> 1 or since <> 0 or retention <> 604800000000000;
