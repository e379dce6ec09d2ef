-- Many tasks may be due, and many leases may end, at one moment: then a batch of them is ordered by number, and an index without it
-- has to be read, and sorted, up to the last of them. The number is in the order as an expression, for the reason that 0005 gives: it
-- is for the order only, and nobody can look for a number there. Statements order by `lo + 0`, too.
drop index delayed_due;
create index delayed_due on delayed (due, (lo + 0));
drop index lease_expires;
create index lease_expires on lease (expires, (lo + 0));

-- Each claim with a worker's own token asks first what is leased under it.
create index lease_token on lease (token);
