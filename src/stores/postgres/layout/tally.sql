-- Counts of finished tasks.

-- name: fold_tally
-- Rows of tally are never updated, so that a ctid stays that of its row. Two transactions that fold at once take
-- different rows and do not wait for each other; readers see the rows before or the sum after.
-- $1 bigint: how many rows to take at most
-- Index: none, by ctid
-- Locks: the rows that it deletes; it skips those that are locked
with taken as (
  delete from tally
   where ctid = any(array(select ctid from tally limit $1 for update skip locked))
  returning queue, state, n
), added as (
  insert into tally (queue, state, n)
  select queue, state, sum(n)::bigint
    from taken
   group by queue, state
  having sum(n) <> 0
)
select count(*)
  from taken;
