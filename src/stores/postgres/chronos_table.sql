-- What is asked of a database of Chronos before its table is read.

-- name: chronos_columns
-- The first answer is the name of the table, quoted as it must be.
-- $1 text[]: names of tables; the first one that is there counts
-- Index: those of the system's catalogue
-- Locks: none
select found.table_name, a.attname::text, format_type(a.atttypid, null)
  from (
    select to_regclass(w.name) as id, to_regclass(w.name)::text as table_name
      from unnest($1::text[]) with ordinality as w(name, place)
     where to_regclass(w.name) is not null
     order by w.place
     limit 1) as found
  join pg_attribute as a on a.attrelid = found.id and a.attnum > 0 and not a.attisdropped
 order by a.attnum;
