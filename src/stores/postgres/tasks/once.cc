#include "stores/postgres/tasks/once.h"

#include <algorithm>
#include <map>
#include <utility>

#include "stores/postgres/connection/statements.h"

namespace horae::postgres {
namespace {

const Sql kLockTokens = statement("lock_tokens");
const Sql kTokenPatience = statement("token_patience");
const Sql kTokenPatienceEnds = statement("token_patience_ends");
const Sql kServed = statement("served_tokens");
const Sql kNoteServed = statement("note_served");

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

void OnceTokens::note_served(std::span<const ClaimWish> wishes, const std::vector<std::vector<LeasedTask>>& answer) {
  std::set<Uuid> served;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (wishes[i].once && !answer[i].empty()) served.insert(wishes[i].token);
  }
  if (served.empty()) return;
  transaction_.send(kNoteServed, Params::of(std::vector<Uuid>(served.begin(), served.end())));
}

void OnceTokens::fill(std::span<const ClaimWish> wishes, std::vector<std::vector<LeasedTask>>& answer) {
  if (!held_) return;
  std::map<Uuid, std::vector<LeasedTask>> given = held_->fill();
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (!wishes[i].once) continue;
    std::vector<LeasedTask>& of_token = given[wishes[i].token];
    if (answer[i].empty()) {
      answer[i] = of_token;
    } else {
      of_token = answer[i];
      std::ranges::sort(of_token, {}, &LeasedTask::number);
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

}  // namespace horae::postgres
