-- Claims from the heads of queues. Each statement answers rows for read_taken_head() (take_head.cc): what was leased, which
-- ready ranges were left in part, and a verdict. A claim is put off if settlements that this transaction began with have
-- found their leases changed (settle_known.sql): what they were to do has to be done first.

-- name: take_head
-- The claim of one worker from one queue. It reads the head of the queue, puts the fresh ranges beside it, as make_ready
-- (insertion.sql) would have made them, and leases the first of both. `upto` is the last number that the wish gets of a
-- range; below its first one if it gets none. If all ranges that it was to look at were used up, and there may be more,
-- nothing is taken. Pause and stop are conditions of the statement itself. Ranges are deleted by their ctid, for a
-- ready one is locked here and never updated. The number 0 belongs to no task and fills the list of fresh ones up. The
-- leases begin when the head is locked: `cut` reads the clock with its first row, for which it has to know all of the
-- head. A write that changes another number of rows than it must makes the statement fail: a trigger or another program
-- changes this database.
-- $1 integer: the queue
-- $2 bigint: its floor
-- $3 bigint: no floor, for a queue without ageing
-- $4 bigint: how many ranges to look at
-- $5 bigint: how many tasks to take
-- $6 text: owner
-- $7 uuid: token
-- $8 bigint: length of the lease, ns
-- $9 smallint: the highest priority of tasks that this transaction made ready, or null: the floor may lie above them
-- $10 boolean: the token serves once
-- Values: the fresh ranges, of this queue
-- Index: queue_pkey, ready_order, claim_token_pkey; ready by ctid
-- Locks: the ranges at the head; it skips those that are locked. The token, if no other transaction has it
with fresh(lo, hi, of_queue, priority, max_attempts, recurring) as (
  values (:lo, :hi, :of_queue, :priority, :max_attempts, :recurring)
), wished as materialized (
  select q.no,
         q.rate,
         q.paused or coalesce((select stopped from control), true) as closed,
         case when $10::boolean then horae_token_state($7::uuid) else 0::smallint end as token_state,
         coalesce(current_setting('horae.unmet', true), '') = 'on' as put_off,
         s.second,
         q.base + q.rate * (s.second - q.since) as rank_of_zero
    from queue as q,
         (select floor(extract(epoch from horae_now()))::bigint as second) as s
   where q.no = $1::integer
), head as materialized (
  select place, lo, hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring, run_at, ended_event,
         ended_owner
    from wished
   cross join lateral (
           select *, ctid as place
             from ready
            where ready.queue = wished.no
              and ready.rank >= case wished.rate
                    when 0 then $3::bigint
                    else least($2::bigint, wished.rank_of_zero - $9::smallint)
                  end
            order by ready.queue, ready.rank, ready.at, ready.lo + 0
            limit $4::bigint
              for update skip locked) as of_queue
   where not wished.closed
     and not wished.put_off
     and wished.token_state = 0
  union all
  select null, lo, hi, no, rank_of_zero - priority, second, (select horae_now()), 0, 0, max_attempts, recurring, null, null, null
    from fresh
    left join wished on true
   where lo > 0
), short as materialized (
  select count(*) = $4::bigint and sum((hi - lo + 1)::integer) < $5::bigint as is_so
    from head
   where place is not null
), cut as materialized (
  select *,
         case
           when (select closed or put_off or token_state <> 0 from wished) or (select is_so from short)
             then lo - 1
           else least(hi, hi + $5::bigint - sum((hi - lo + 1)::integer) over (order by rank, at, lo))
         end as upto,
         (select horae_now()) as now
    from head
), gone as (
  delete from ready
   where ctid = any(array(select place from cut where upto >= lo and place is not null))
  returning 1
), rest as (
  insert into ready (lo, hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring, run_at, ended_event,
                     ended_owner)
  select greatest(lo, upto + 1), hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring, run_at,
         ended_event, ended_owner
    from cut
   where upto < hi and (upto >= lo or place is null)
  returning 1
), taken as (
  insert into running (lo, hi, queue, rank, at, attempt, tries, owner, token, length, started_at, expires, max_attempts,
                       recurring, run_at, ended_event, ended_owner)
  select lo, upto, queue, rank, at, attempt + 1, tries, $6::text, $7::uuid, $8::bigint, now,
         now + ($8::bigint + 999) / 1000 * interval '1 microsecond', max_attempts, recurring, run_at, ended_event,
         ended_owner
    from cut
   where upto >= lo
  returning 1
), noted as (
  insert into claim_token (token, claimed_at, lo, hi)
  select $7::uuid, min(now), min(lo), max(upto)
    from cut
   where upto >= lo and $10::boolean
  having count(*) > 0
  returning 1
), wrong as (
  select (select count(*) from gone) <> count(*) filter (where upto >= lo and place is not null)
      or (select count(*) from rest) <> count(*) filter (where upto < hi and (upto >= lo or place is null))
      or (select count(*) from taken) <> count(*) filter (where upto >= lo)
      or (select count(*) from noted) <> least(1, count(*) filter (where upto >= lo and $10::boolean)) as rows
    from cut
), verdict as materialized (
  select case
           when (select rows from wrong)
             then ('rows that a trigger or another program keeps from being changed, beside ' ||
                   (select count(*) from gone))::smallint
           when not exists (select from wished) then 2::smallint
           when (select token_state from wished) <> 0 then 2::smallint + (select token_state from wished)
           when (select is_so from short) then 1::smallint
           when exists (select from cut where upto >= lo) or (select closed from wished) then 0::smallint
           when (select put_off from wished) then 7::smallint
           when exists (select from ready where ready.queue = $1::integer) then 5::smallint
           else 6::smallint
         end as code
)
select verdict.code, 0, cut.now, cut.lo, cut.upto, cut.attempt + 1, cut.recurring is not null, cut.rank, cut.rank, cut.at,
       $1::integer, cut.upto < cut.hi
  from verdict
  left join cut on cut.upto >= cut.lo or cut.place is null;

-- name: take_heads
-- The claims of several workers that wish from the same queues, or of one from several queues. As take_head, with these
-- differences: the ranges at the heads of all queues are put in one line by their effective priority (rank_of_zero - rank),
-- and the wishes, too, in their order; `beyond` is the place behind a range or a wish in its line. A wish gets the pieces
-- that have its places; together they are the beginning of the line. If a queue's ranges were used up, and there may be
-- more of it, nothing is taken.
-- $1 integer[]: queues
-- $2 bigint[]: the floor of each
-- $3 bigint: no floor, for queues without ageing
-- $4 bigint: how many ranges of each to look at
-- $5 smallint[]: the highest priority of tasks that this transaction made ready in each, or null
-- $6 integer[]: how many tasks each wish takes
-- $7 text[]: owners
-- $8 uuid[]: tokens, each once if it serves once
-- $9 bigint[]: lengths of the leases, ns
-- $10 boolean[]: whether the token serves once
-- Values: the fresh ranges, of these queues
-- Index: queue_pkey, ready_order, claim_token_pkey; ready by ctid
-- Locks: the ranges at the heads; it skips those that are locked. The tokens, where no other transaction has them
with fresh(lo, hi, of_queue, priority, max_attempts, recurring) as (
  values (:lo, :hi, :of_queue, :priority, :max_attempts, :recurring)
), told as materialized (
  select wish, most, owner, token, length, once,
         case when once then horae_token_state(token) else 0::smallint end as token_state
    from unnest($6::integer[], $7::text[], $8::uuid[], $9::bigint[], $10::boolean[]) with ordinality
         as w(most, owner, token, length, once, wish)
), wishes as materialized (
  select *, sum(most) over (order by wish) - most as first, sum(most) over (order by wish) as beyond
    from told
   where token_state = 0
), wanted as materialized (
  select case when coalesce(current_setting('horae.unmet', true), '') = 'on' then 0 else coalesce(sum(most), 0) end as tasks
    from wishes
), wished as materialized (
  select w.no as told_no,
         q.no,
         q.rate,
         q.paused or coalesce((select stopped from control), true) as closed,
         s.second,
         q.base + q.rate * (s.second - q.since) as rank_of_zero,
         w.floor,
         w.made_ready
    from (select floor(extract(epoch from horae_now()))::bigint as second) as s
   cross join unnest($1::integer[], $2::bigint[], $5::smallint[]) as w(no, floor, made_ready)
    left join queue as q on q.no = w.no
), head as materialized (
  select place, lo, hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring, run_at, ended_event,
         ended_owner, rank - rank_of_zero as urgency, true as is_open
    from wished
   cross join lateral (
           select *, ctid as place
             from ready
            where ready.queue = wished.no
              and ready.rank >= case wished.rate
                    when 0 then $3::bigint
                    else least(wished.floor, wished.rank_of_zero - wished.made_ready)
                  end
            order by ready.queue, ready.rank, ready.at, ready.lo + 0
            limit $4::bigint
              for update skip locked) as of_queue
   where not wished.closed
     and (select tasks from wanted) > 0
  union all
  select null, lo, hi, no, rank_of_zero - priority, second, (select horae_now()), 0, 0, max_attempts, recurring, null, null, null,
         -priority, not closed and (select tasks from wanted) > 0
    from fresh
    left join wished on wished.no = fresh.of_queue
   where lo > 0
), line as materialized (
  select *,
         sum(case when is_open then (hi - lo + 1)::integer else 0 end) over (order by urgency, at, lo) as beyond
    from head
), short as materialized (
  select exists (
           select
             from line
            where place is not null
            group by queue
           having count(*) = $4::bigint and max(beyond) < (select tasks from wanted)) as is_so
), cut as materialized (
  select *,
         case
           when not is_open or (select is_so from short) then lo - 1
           else greatest(lo - 1, least(hi, hi + (select tasks from wanted) - beyond))
         end as upto,
         (select horae_now()) as now
    from line
), piece as materialized (
  select w.wish, w.owner, w.token, w.length, w.once,
         c.lo + greatest(0, w.first - (c.beyond - (c.hi - c.lo + 1))) as lo,
         least(c.upto, c.hi + w.beyond - c.beyond) as hi,
         c.queue, c.rank, c.at, c.attempt, c.tries, c.max_attempts, c.recurring, c.run_at, c.ended_event, c.ended_owner,
         c.urgency, c.now
    from cut as c
    join wishes as w on w.first < c.beyond and w.beyond > c.beyond - (c.hi - c.lo + 1)
   where c.upto >= c.lo
), gone as (
  delete from ready
   where ctid = any(array(select place from cut where upto >= lo and place is not null))
  returning 1
), rest as (
  insert into ready (lo, hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring, run_at, ended_event,
                     ended_owner)
  select greatest(lo, upto + 1), hi, queue, rank, at, updated_at, attempt, tries, max_attempts, recurring, run_at,
         ended_event, ended_owner
    from cut
   where upto < hi and (upto >= lo or place is null)
  returning 1
), taken as (
  insert into running (lo, hi, queue, rank, at, attempt, tries, owner, token, length, started_at, expires, max_attempts,
                       recurring, run_at, ended_event, ended_owner)
  select lo, hi, queue, rank, at, attempt + 1, tries, owner, token, length, now,
         now + (length + 999) / 1000 * interval '1 microsecond', max_attempts, recurring, run_at, ended_event,
         ended_owner
    from piece
  returning (hi - lo + 1)::integer as tasks
), served as materialized (
  select token, min(now) as now, min(lo) as lo, max(hi) as hi
    from piece
   where once
   group by token
), noted as (
  insert into claim_token (token, claimed_at, lo, hi)
  select token, now, lo, hi
    from served
  returning 1
), wrong as (
  select (select count(*) from gone) <> count(*) filter (where upto >= lo and place is not null)
      or (select count(*) from rest) <> count(*) filter (where upto < hi and (upto >= lo or place is null))
      or (select count(*) from taken) <> (select count(*) from piece)
      or (select coalesce(sum(tasks), 0) from taken) <> coalesce(sum((upto - lo + 1)::integer) filter (where upto >= lo), 0)
      or (select count(*) from noted) <> (select count(*) from served) as rows
    from cut
), verdict as materialized (
  select case
           when (select rows from wrong)
             then ('rows that a trigger or another program keeps from being changed, beside ' ||
                   (select count(*) from gone))::smallint
           when (select is_so from short) then 1::smallint
           when coalesce(current_setting('horae.unmet', true), '') = 'on' then 7::smallint
           when exists (select from piece) or (select tasks from wanted) = 0 then 0::smallint
           when exists (select from wished join ready on ready.queue = wished.no where not wished.closed) then 5::smallint
           when exists (select from wished where closed) then 0::smallint
           else 6::smallint
         end as code
)
select verdict.code, null::bigint as wish, null::timestamptz as now, null::bigint as lo, null::bigint as hi, null::integer, null::boolean, null::bigint as rank,
       null::bigint as urgency, null::bigint as at, null::integer as queue, null::boolean
  from verdict
union all
select 0::smallint, wish - 1, now, lo, hi, attempt + 1, recurring is not null, rank, urgency, at, queue, false
  from piece
union all
select 0::smallint, null, now, lo, lo - 1, 0, false, rank, urgency, at, queue, true
  from cut
 where upto < hi and (upto >= lo or place is null)
union all
select 2::smallint + token_state, wish - 1, null, null, null, null, null, null, null, null, null, null
  from told
 where token_state <> 0
union all
select 2::smallint, null, null, null, null, null, null, null, null, null, told_no, null
  from wished
 where no is null;
