#include "stores/postgres/layout/tally.h"

#include "stores/postgres/connection/statements.h"

namespace horae::postgres {
namespace {

constexpr std::int64_t kMostFolded = 100'000;  // in one transaction

const Sql kFold = statement("fold_tally");

}  // namespace

Result<std::size_t> fold_tally(Pool& pool) {
  return pool.transact<std::size_t>([&](Transaction& transaction) -> Result<std::size_t> {
    transaction.be_patient();
    const std::size_t ticket = transaction.send(kFold, Params::of(kMostFolded));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return static_cast<std::size_t>(transaction.rows(ticket)[0].integer(0));
  });
}

}  // namespace horae::postgres
