-- The tokens of claims that a worker may repeat, each from the claim that got something on: see ClaimWish::once in
-- src/store/lease.h. Those that are old, and under which nothing is leased, are forgotten.
CREATE TABLE claim_token (
  token      BLOB PRIMARY KEY,
  claimed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX claim_token_age ON claim_token (claimed_at);

-- A worker whose node was stopped for this migration may repeat its claim.
INSERT INTO claim_token SELECT token, max(started_at) FROM life WHERE state = 2 AND token IS NOT NULL GROUP BY token;
