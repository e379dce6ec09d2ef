// The model store: tokens.

#include <algorithm>

#include "tests/store_contract/model_store.h"

namespace horae::testing {

Result<Token> ModelTokenStore::create(const Token& token) {
  if (auto checked = check_token(token); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  if (model_.tokens.contains(token.id)) return token_id_is_taken(token.id);
  if (model_.tokens.size() >= kMaxTokens) return too_many_tokens();
  Token kept = token;
  kept.created_at = model_.now();
  model_.tokens.emplace(kept.id, kept);
  ++model_.token_version;
  return kept;
}

Result<bool> ModelTokenStore::revoke(std::string_view id) {
  const std::lock_guard lock(model_.mutex);
  const auto found = model_.tokens.find(id);
  if (found == model_.tokens.end()) return false;
  model_.tokens.erase(found);
  ++model_.token_version;
  return true;
}

Result<TokenList> ModelTokenStore::tokens() {
  const std::lock_guard lock(model_.mutex);
  TokenList list{.tokens = {}, .version = model_.token_version};
  for (const auto& [id, token] : model_.tokens) list.tokens.push_back(token);
  std::ranges::stable_sort(list.tokens, {}, &Token::created_at);
  return list;
}

}  // namespace horae::testing
