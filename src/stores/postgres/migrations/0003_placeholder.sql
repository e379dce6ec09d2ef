-- Stands in the place of the migration that comes before 0004_tokens.sql, which another branch brings: drop this one then.
select 1;
