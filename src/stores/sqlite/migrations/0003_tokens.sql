-- Who may call a node, and what for. Secrets are kept nowhere: only their hashes. Every create and revoke changes
-- control.token_version.
CREATE TABLE token (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  role       INTEGER NOT NULL,  -- Role in src/store/token_store.h
  patterns   TEXT NOT NULL,     -- of queues, with a space between: src/model/queue_scope.h
  hash       BLOB NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE control ADD COLUMN token_version INTEGER NOT NULL DEFAULT 0;
