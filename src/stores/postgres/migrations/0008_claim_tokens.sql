-- The tokens of claims that a worker may repeat, each from the claim that got something on: see ClaimWish::once in
-- src/store/lease.h. Those that are old, and under which nothing is leased, are forgotten.
create table claim_token (
  token      uuid primary key,
  claimed_at timestamptz not null
);
create index claim_token_age on claim_token (claimed_at);

-- A worker whose node was stopped for this migration may repeat its claim.
insert into claim_token select token, max(started_at) from lease group by token;
