-- What a connection asks and sets when it begins.

-- name: ask_server
-- The session, the settings without which a crash of the server loses acknowledged tasks, and which start of which server
-- this is, and which of its databases.
-- Index: none
-- Locks: none
select pg_backend_pid(),
       current_setting('fsync'),
       current_setting('full_page_writes'),
       current_setting('synchronous_commit'),
       extract(epoch from pg_postmaster_start_time())::text || '/' ||
         (select oid::text from pg_database where datname = current_database());

-- name: session_settings
-- No JIT, which takes milliseconds to win microseconds. Generic plans, because ours do not depend on the values, and
-- planning costs more than the statements do. Plain index scans instead of bitmaps, which cost more for a few rows and
-- never mark the entries of rows that are gone. A node that dies or hangs in the middle of a transaction, without a word
-- to the server, keeps its locks for 20 s, not for hours. Isolation and access are for transactions without BEGIN.
-- Index: none
-- Locks: none
select set_config('jit', 'off', false),
       set_config('plan_cache_mode', 'force_generic_plan', false),
       set_config('enable_seqscan', 'off', false),
       set_config('enable_bitmapscan', 'off', false),
       set_config('timezone', 'UTC', false),
       set_config('idle_in_transaction_session_timeout', '20s', false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('default_transaction_read_only', 'off', false);

-- name: transaction_settings
-- The same behind a pooler, where settings must not outlive the transaction, and statements are planned each time with
-- their values. Each transaction may come to another server there: one that is not the expected one fails, by a text
-- that is not a number.
-- $1 text: the server and database of ask_server
-- Index: none
-- Locks: none
select set_config('jit', 'off', true),
       set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true),
       set_config('timezone', 'UTC', true),
       set_config('idle_in_transaction_session_timeout', '20s', true),
       case
         when found.incarnation = $1::text then 0
         else ('Horae expected ' || $1::text || ' and found ' || found.incarnation)::integer
       end
  from (
    select extract(epoch from pg_postmaster_start_time())::text || '/' ||
             (select oid::text from pg_database where datname = current_database()) as incarnation) as found;
