#include "stores/postgres/tasks/once.h"

#include <algorithm>
#include <utility>

#include "stores/postgres/connection/statements.h"

namespace horae::postgres {
namespace {

const Sql kLockTokens = statement("lock_tokens");
const Sql kTokenPatience = statement("token_patience");
const Sql kTokenPatienceEnds = statement("token_patience_ends");
const Sql kServed = statement("served_tokens");
const Sql kNoteServed = statement("note_served", Changes::kEach);

// Two tokens that share a key wait for each other without need, which is harmless.
std::pair<std::int32_t, std::int32_t> lock_key(const Uuid& token) {
  const auto half = [&token](std::size_t first) {
    std::uint32_t bits = 0;
    for (std::size_t i = first; i < first + 4; ++i) bits = (bits << 8U) | (token.bytes[i] ^ token.bytes[i + 8]);
    return static_cast<std::int32_t>(bits);
  };
  return {half(0), half(4)};
}

void send_locks(Transaction& transaction, const std::vector<Uuid>& tokens) {
  std::set<std::pair<std::int32_t, std::int32_t>> keys;
  for (const Uuid& token : tokens) keys.insert(lock_key(token));
  std::vector<std::int32_t> first, second;
  for (const auto& [a, b] : keys) {
    first.push_back(a);
    second.push_back(b);
  }
  transaction.send(kTokenPatience);
  transaction.send(kLockTokens, Params::of(first, second));
  transaction.send(kTokenPatienceEnds);
}

std::vector<Uuid> once_tokens_of(std::span<const ClaimWish> wishes) {
  std::set<Uuid> tokens;
  for (const ClaimWish& wish : wishes) {
    if (wish.once) tokens.insert(wish.token);
  }
  return {tokens.begin(), tokens.end()};
}

}  // namespace

OnceTokens::OnceTokens(Transaction& transaction, std::span<const ClaimWish> wishes) : transaction_(transaction) {
  const std::vector<Uuid> tokens = once_tokens_of(wishes);
  if (tokens.empty()) return;
  // One round trip for all: each statement sees what was committed before it began, that is, after the locks were
  // granted.
  send_locks(transaction, tokens);
  const std::size_t served = transaction.send(kServed, Params::of(tokens));
  held_.emplace(transaction, tokens);
  if (!transaction.wait()) return;
  for (const Row row : transaction.rows(served)) served_.insert(row.uuid(0));
  held_->read();
}

// A token under which tasks are leased has served as well.
bool OnceTokens::has_served(const ClaimWish& wish) const {
  return wish.once && (served_.contains(wish.token) || held_->is_held(wish.token));
}

void OnceTokens::note_served(std::span<const ClaimWish> wishes, const std::vector<ClaimOutcome>& answer) {
  std::set<Uuid> served;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (wishes[i].once && !answer[i].tasks.empty()) served.insert(wishes[i].token);
  }
  if (served.empty()) return;
  transaction_.send(kNoteServed, Params::of(std::vector<Uuid>(served.begin(), served.end())));
}

void OnceTokens::fill(std::span<const ClaimWish> wishes, std::vector<ClaimOutcome>& answer) {
  if (!held_) return;
  HeldTasks::ByToken held = held_->fill();
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const ClaimWish& wish = wishes[i];
    if (!wish.once) continue;
    if (!answer[i].tasks.empty()) {  // new ones, which later wishes of this batch repeat
      served_.insert(wish.token);
      HeldTasks::OfToken& given = held[wish.token];
      given = {.owner = wish.owner, .tasks = answer[i].tasks};
      std::ranges::sort(given.tasks, {}, &LeasedTask::number);
    } else if (const auto found = held.find(wish.token); found != held.end()) {
      const bool is_its_own = found->second.owner == wish.owner;
      answer[i] = is_its_own ? ClaimOutcome{ClaimOutcome::Kind::kRepeated, found->second.tasks}
                             : ClaimOutcome{ClaimOutcome::Kind::kOtherOwner, {}};
    } else if (served_.contains(wish.token)) {
      answer[i].kind = ClaimOutcome::Kind::kRepeated;
    }
  }
}

std::vector<bool> find_served(Transaction& transaction, std::span<const Uuid> tokens) {
  std::set<Uuid> served;
  for (const Row row : transaction.run(kServed, Params::of(std::vector<Uuid>(tokens.begin(), tokens.end())))) {
    served.insert(row.uuid(0));
  }
  std::vector<bool> answer;
  for (const Uuid& token : tokens) answer.push_back(served.contains(token));
  return answer;
}

Result<std::vector<LeasedTask>> leases_of(Pool& pool, const Uuid& token) {
  return pool.look<std::vector<LeasedTask>>([&](Transaction& transaction) -> Result<std::vector<LeasedTask>> {
    HeldTasks held(transaction, {token});
    if (transaction.wait()) held.read();
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    const auto& of_tokens = held.fill();
    return of_tokens.empty() ? std::vector<LeasedTask>() : of_tokens.begin()->second.tasks;
  });
}

Result<std::vector<bool>> have_served(Pool& pool, std::span<const Uuid> tokens) {
  return pool.look<std::vector<bool>>([&](Transaction& transaction) -> Result<std::vector<bool>> {
    auto served = find_served(transaction, tokens);
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return served;
  });
}

}  // namespace horae::postgres
