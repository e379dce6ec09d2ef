-- Delayed messages. A message waits until readied_at is set, and then belongs to the node readied_by.
create table message (
  delay_queue text not null,
  id          text not null,
  deadline    timestamptz not null,
  readied_at  timestamptz,
  readied_by  uuid,
  key         bytea,
  value       bytea,
  headers     bytea not null,  -- src/stores/headers.h
  primary key (delay_queue, id)
);
create index message_waiting on message (delay_queue, deadline, id) where readied_at is null;
create index message_ready on message (delay_queue, readied_at) where readied_at is not null;
