-- As 0005 did for leases: a task that waits for its time is found by its number in the primary key only.
drop index delayed_due;
create index delayed_due on delayed (due) include (lo);
