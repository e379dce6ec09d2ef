-- As 0005 and 0007 did for the other places: a table that looked empty to the last analyze tempted the planner to look for numbers
-- in run_order, by reading it from one end to the other. Claims deleted what they took that way, so that each of them walked over
-- all that was ready, and over all that had been.
drop index run_order;
create index run_order on run (queue, rank, at, (lo + 0));

-- The same for days whose partitions were still empty when they were analyzed.
drop index outcome_queue;
create index outcome_queue on outcome (queue, (lo + 0));
