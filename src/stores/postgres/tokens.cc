#include "stores/postgres/tokens.h"

#include <algorithm>

#include "stores/postgres/connection/statements.h"

namespace horae::postgres {
namespace {

const Sql kNextVersion = statement("tokens_next_version", Changes::kOne);
const Sql kVersion = statement("tokens_version");
const Sql kInsert = statement("tokens_insert", Changes::kAny);
const Sql kExists = statement("tokens_exists");
const Sql kDelete = statement("tokens_delete", Changes::kAny);
const Sql kAll = statement("tokens_all");

Blob blob_of(const TokenHash& hash) { return {{reinterpret_cast<const char*>(hash.data()), hash.size()}}; }

Result<Token> read_token(const Row& row) {
  std::vector<std::string> patterns;
  for (auto& pattern : row.texts(3)) patterns.push_back(std::move(pattern).value_or(""));
  auto scope = QueueScope::of(std::move(patterns));
  if (!scope.ok()) return scope.error();
  const auto role = role_of(row.integer(2));
  if (!role.ok()) return role.error();
  Token token{
      .id = row.text(0), .name = row.text(1), .role = *role, .scope = std::move(*scope), .created_at = row.instant(5)};
  const std::string_view hash = row.view(4);
  std::copy_n(hash.begin(), std::min(hash.size(), token.hash.size()), token.hash.begin());
  return token;
}

}  // namespace

Result<Token> Tokens::create(const Token& token) {
  if (auto checked = check_token(token); !checked.ok()) return checked.error();
  return pool_.transact<Token>([&](Transaction& transaction) -> Result<Token> {
    transaction.send(kNextVersion);
    const Rows made = transaction.run(
        kInsert, Params::of(token.id, token.name, static_cast<std::int16_t>(token.role), token.scope.patterns(),
                            blob_of(token.hash), static_cast<std::int64_t>(kMaxTokens)));
    if (made.empty() && !transaction.failed()) {
      const bool is_taken = !transaction.run(kExists, Params::of(token.id)).empty();
      if (!transaction.failed()) return is_taken ? token_id_is_taken(token.id) : too_many_tokens();
    }
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    Token kept = token;
    kept.created_at = made[0].instant(0);
    return kept;
  });
}

Result<bool> Tokens::revoke(std::string_view id) {
  return pool_.transact<bool>([&](Transaction& transaction) -> Result<bool> {
    transaction.send(kNextVersion);
    const Rows gone = transaction.run(kDelete, Params::of(id));
    // Without a commit, the version stays too.
    if (!transaction.failed() && gone.affected() == 0) return false;
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return true;
  });
}

Result<TokenList> Tokens::tokens() {
  return pool_.look<TokenList>([&](Transaction& transaction) -> Result<TokenList> {
    const auto version = transaction.send(kVersion);
    const auto all = transaction.send(kAll);
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    TokenList list{.tokens = {}, .version = transaction.rows(version)[0].integer(0)};
    for (const Row row : transaction.rows(all)) {
      auto token = read_token(row);
      if (!token.ok()) return token.error();
      list.tokens.push_back(std::move(*token));
    }
    return list;
  });
}

}  // namespace horae::postgres
