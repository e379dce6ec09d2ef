-- Stands in the place of the migration that comes before 0004_tokens.sql, which another branch brings: drop this one then.
ALTER TABLE control ADD COLUMN token_version INTEGER NOT NULL DEFAULT 0;
