#include "stores/sqlite/tokens.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "stores/sqlite/statements.h"

namespace horae::sqlite {
namespace {

Blob blob_of(const TokenHash& hash) { return {{reinterpret_cast<const char*>(hash.data()), hash.size()}}; }

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

Result<Token> read_token(const Statement& row) {
  auto scope = QueueScope::of(words_of(row.text(3)));
  if (!scope.ok()) return scope.error();
  const auto role = role_of(row.integer(2));
  if (!role.ok()) return role.error();
  Token token{
      .id = row.text(0), .name = row.text(1), .role = *role, .scope = std::move(*scope), .created_at = row.instant(5)};
  const std::string hash = row.text(4);
  std::copy_n(hash.begin(), std::min(hash.size(), token.hash.size()), token.hash.begin());
  return token;
}

}  // namespace

Tokens::Tokens(Writer& writer)
    : writer_(writer),
      find_(writer.database(), statement("tokens_exists")),
      count_(writer.database(), statement("tokens_count")),
      insert_(writer.database(), statement("tokens_insert")),
      delete_(writer.database(), statement("tokens_delete")),
      next_version_(writer.database(), statement("tokens_next_version")),
      version_(writer.database(), statement("tokens_version")),
      all_(writer.database(), statement("tokens_all")) {}

std::optional<Error> Tokens::why_not(const Token& token) {
  const bool is_taken = find_.start(token.id).next();
  find_.finish();
  if (is_taken) return token_id_is_taken(token.id);
  const bool is_full = count_.start().next() && static_cast<std::size_t>(count_.integer(0)) >= kMaxTokens;
  count_.finish();
  if (is_full) return too_many_tokens();
  return std::nullopt;
}

Result<Token> Tokens::create(const Token& token) {
  if (auto checked = check_token(token); !checked.ok()) return checked.error();
  Token kept = token;
  const auto refused = writer_.transact<std::optional<Error>>([&](Change& change) {
    auto reason = why_not(token);
    if (reason) return reason;
    kept.created_at = change.now();
    insert_.run(kept.id, kept.name, kept.role, fmt::format("{}", fmt::join(kept.scope.patterns(), " ")),
                blob_of(kept.hash), kept.created_at);
    next_version_.run();
    return reason;
  });
  if (!refused.ok()) return refused.error();
  if (*refused) return **refused;
  return kept;
}

Result<bool> Tokens::revoke(std::string_view id) {
  return writer_.transact<bool>([&](Change&) {
    const bool is_gone = delete_.run_any(id) > 0;
    if (is_gone) next_version_.run();
    return is_gone;
  });
}

Result<TokenList> Tokens::tokens() {
  return writer_.transact<TokenList>([&](Change&) {
    TokenList list;
    if (version_.start().next()) list.version = version_.integer(0);
    version_.finish();
    all_.start();
    while (all_.next()) {
      auto token = read_token(all_);
      if (token.ok()) {
        list.tokens.push_back(std::move(*token));
      } else {
        writer_.database().fail(token.error());
      }
    }
    return list;
  });
}

}  // namespace horae::sqlite
