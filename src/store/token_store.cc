#include "store/token_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"
#include "model/names.h"

namespace horae {
namespace {

constexpr std::array<std::string_view, 4> kRoleNames = {"read", "submit", "work", "admin"};  // in the order of Role

Result<void> check_word(std::string_view field, std::string_view text) {
  if (is_free_form_name(text, kMaxTokenName)) return {};
  return Error{ErrorCode::kRefused, fmt::format("{} {}: give 1 to {} characters of UTF-8 without control characters",
                                                field, quote(text), kMaxTokenName)};
}

}  // namespace

std::string_view to_string(Role role) { return kRoleNames.at(static_cast<std::size_t>(role)); }

std::optional<Role> parse_role(std::string_view text) {
  const auto* const found = std::ranges::find(kRoleNames, text);
  if (found == kRoleNames.end()) return std::nullopt;
  return static_cast<Role>(found - kRoleNames.begin());
}

Result<Role> role_of(std::int64_t number) {
  if (number >= 0 && number < std::ssize(kRoleNames)) return static_cast<Role>(number);
  return Error{ErrorCode::kInternal, fmt::format("role {} of a token: this version of Horae does not know it", number)};
}

Result<void> check_token(const Token& token) {
  if (auto checked = check_word("id", token.id); !checked.ok()) return checked;
  return check_word("name", token.name);
}

Error token_id_is_taken(std::string_view id) {
  return {ErrorCode::kConflict, fmt::format("token {}: there is one with this id", quote(id))};
}

Error too_many_tokens() {
  return {ErrorCode::kOverLimit, fmt::format("there are {} tokens already: revoke some first", kMaxTokens)};
}

}  // namespace horae
