#include "api/access/token_book.h"

#include <utility>

#include "api/access/token_text.h"

namespace horae {
namespace {

Principal principal_of(Token& token, std::size_t queues_per_pattern) {
  Principal principal{.token_id = token.id, .name = std::move(token.name), .role = token.role};
  if (token.role != Role::kAdmin) {
    const std::size_t most = queues_per_pattern * token.scope.patterns().size();
    principal.allowance = std::make_shared<const QueueAllowance>(QueueAllowance{.token = token.id, .most = most});
  }
  if (!token.scope.allows_all()) principal.scope = std::make_shared<const QueueScope>(std::move(token.scope));
  return principal;
}

}  // namespace

Result<void> TokenBook::refresh(TokenStore& store) {
  auto list = store.tokens();
  if (!list.ok()) return list.error();
  auto fresh = std::make_shared<Page>();
  fresh->version = list->version;
  for (Token& token : list->tokens) {
    fresh->entries.emplace(token.id, Entry{.hash = token.hash, .principal = principal_of(token, queues_per_pattern_)});
  }
  const std::lock_guard lock(mutex_);
  page_ = std::move(fresh);
  return {};
}

std::optional<Principal> TokenBook::find(std::string_view secret_text) const {
  const auto secret = read_secret(secret_text);
  if (!secret.ok()) return std::nullopt;
  const auto now = page();
  const auto found = now->entries.find(secret->id);
  if (found == now->entries.end() || !are_same(found->second.hash, secret->hash)) return std::nullopt;
  return found->second.principal;
}

bool TokenBook::is_current(const Principal& principal) const {
  if (principal.token_id.empty()) return true;
  const auto now = page();
  const auto found = now->entries.find(principal.token_id);
  return found != now->entries.end() && have_same_rights(found->second.principal, principal);
}

std::shared_ptr<const TokenBook::Page> TokenBook::page() const {
  const std::lock_guard lock(mutex_);
  return page_;
}

}  // namespace horae
