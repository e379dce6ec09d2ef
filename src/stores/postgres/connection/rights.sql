-- What the role of the connection may do.

-- name: missing_rights
-- The role, and what it may not do. Reads the catalogue only: it locks no table of Horae. Partitions can be created and
-- dropped only by the owner of their table (or a member of that role), which may also read and write it.
-- Index: none
-- Locks: none
select current_user, null
 union all
select current_user, 'use a schema: none of its search_path is there'
 where current_schema() is null
 union all
select current_user, 'create tables in schema ' || current_schema()
 where not has_schema_privilege(current_schema(), 'create')
 union all
(select current_user, 'own table ' || relname || ', which is of ' || pg_get_userbyid(relowner)
   from pg_class
  where relnamespace = current_schema()::regnamespace
    and relkind in ('r', 'p')
    and not relispartition
    and not pg_has_role(relowner, 'usage')
  order by relname);
