-- Delayed messages. A message waits until readied_at is set, and then belongs to the node readied_by.
-- docs/internals/adr/0022-message-layout.md says why the table is cut this way.
--
-- No index has a column that changes while a message is readied and given back in time, and pages keep room for a
-- second version of each of their rows, because neighbours are readied together: so the new row stays beside the old one (a HOT update), and no index
-- is written. Ids compare byte by byte.
create table message (
  due              timestamptz not null,            -- the deadline, or later after a publish that failed
  deadline         timestamptz not null,
  readied_at       timestamptz,
  source_offset    bigint,                          -- where the record lies in the input topic
  source_partition integer,
  may_be_published boolean not null default false,  -- nobody knows: see GiveBack in src/store/message_store.h
  readied_by       uuid,
  delay_queue      text collate "C" not null,
  id               text collate "C" not null,
  headers          text not null,                   -- src/stores/headers.h
  key              bytea,
  value            bytea,
  primary key (delay_queue, id)
) with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
-- Over expressions, so that it can serve no search by queue and id: see messages.sql.
create index message_due on message ((delay_queue || ''), due, (id || ''));

-- Text as it is; bytes that are not text as PostgreSQL writes them, \x00ff.
create function chronos_text(bytes bytea) returns text language plpgsql immutable as $$
begin
  return convert_from(bytes, 'UTF8');
exception when character_not_in_repertoire then
  return bytes::text;
end $$;

-- The table of Chronos, for people and their tools.
create view chronos as
select id,
       deadline,
       readied_at,
       readied_by,
       headers::jsonb as message_headers,
       chronos_text(key) as message_key,
       value as message_value,
       delay_queue as queue
  from message;
