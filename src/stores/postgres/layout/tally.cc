#include "stores/postgres/layout/tally.h"

namespace horae::postgres {
namespace {

constexpr std::int64_t kMostFolded = 100'000;  // in one transaction

// Rows of tally are never updated, so a ctid stays theirs. Two who fold at once take different rows and wait for
// nobody; readers see the rows before or the sum after.
const Sql kFold{"fold_tally",
                "WITH taken AS (DELETE FROM tally WHERE ctid = ANY (ARRAY("
                "SELECT ctid FROM tally LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING queue, state, n),"
                " added AS (INSERT INTO tally (queue, state, n)"
                " SELECT queue, state, sum(n)::bigint FROM taken GROUP BY queue, state HAVING sum(n) <> 0)"
                " SELECT count(*) FROM taken"};

}  // namespace

Result<std::size_t> fold_tally(Pool& pool) {
  return pool.transact<std::size_t>([&](Transaction& transaction) -> Result<std::size_t> {
    const std::size_t ticket = transaction.send(kFold, Params::of(kMostFolded));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return static_cast<std::size_t>(transaction.rows(ticket)[0].integer(0));
  });
}

}  // namespace horae::postgres
