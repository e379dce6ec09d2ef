-- Delayed messages. A message waits until readied_at is set, and then belongs to the node readied_by.
CREATE TABLE message (
  delay_queue TEXT NOT NULL,
  id          TEXT NOT NULL,
  deadline    INTEGER NOT NULL,
  readied_at  INTEGER,
  readied_by  BLOB,
  key         BLOB,
  value       BLOB,
  headers     BLOB NOT NULL,  -- src/stores/sqlite/headers.h
  UNIQUE (delay_queue, id)
) STRICT;
CREATE INDEX message_waiting ON message (delay_queue, deadline, id) WHERE readied_at IS NULL;
CREATE INDEX message_ready ON message (delay_queue, readied_at) WHERE readied_at IS NOT NULL;
