-- API tokens: which clients may call a node, and what for. Only hashes of the secrets are stored.
create table token (
  id         text primary key,
  name       text not null,
  role       smallint not null,  -- Role in src/store/token_store.h
  patterns   text[] not null,    -- of queues: src/model/queue_scope.h
  hash       bytea not null,
  created_at timestamptz not null
);
