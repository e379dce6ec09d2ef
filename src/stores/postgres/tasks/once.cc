#include "stores/postgres/tasks/once.h"

#include <set>
#include <utility>

#include "stores/postgres/connection/statements.h"

namespace horae::postgres {
namespace {

const Sql kLockTokens = statement("lock_tokens");
const Sql kTokenPatience = statement("token_patience");
const Sql kTokenPatienceEnds = statement("token_patience_ends");
const Sql kServed = statement("served_tokens");

}  // namespace

void wait_for_tokens(Transaction& transaction, const std::vector<Uuid>& tokens) {
  if (tokens.empty()) return;
  transaction.send(kTokenPatience);
  transaction.send(kLockTokens, Params::of(tokens));
  transaction.send(kTokenPatienceEnds);
}

Result<HeldTasks::ByToken> find_held(Pool& pool, const std::vector<Uuid>& tokens) {
  return pool.look<HeldTasks::ByToken>([&](Transaction& transaction) -> Result<HeldTasks::ByToken> {
    HeldTasks held(transaction, tokens);
    if (transaction.wait()) held.read();
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return held.fill();
  });
}

Result<std::vector<LeasedTask>> leases_of(Pool& pool, const Uuid& token) {
  auto held = find_held(pool, {token});
  if (!held.ok()) return held.error();
  return held->empty() ? std::vector<LeasedTask>() : std::move(held->begin()->second.tasks);
}

Result<std::vector<bool>> have_served(Pool& pool, std::span<const Uuid> tokens) {
  return pool.look<std::vector<bool>>([&](Transaction& transaction) -> Result<std::vector<bool>> {
    const std::size_t ticket = transaction.send(kServed, Params::of(std::vector<Uuid>(tokens.begin(), tokens.end())));
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    std::set<Uuid> served;
    for (const Row row : transaction.rows(ticket)) served.insert(row.uuid(0));
    std::vector<bool> answer;
    for (const Uuid& token : tokens) answer.push_back(served.contains(token));
    return answer;
  });
}

}  // namespace horae::postgres
