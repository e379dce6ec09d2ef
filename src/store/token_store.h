// API tokens: which callers a node accepts, and for which requests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/queue_scope.h"

namespace horae {

inline constexpr std::size_t kMaxTokens = 10'000;
inline constexpr std::size_t kMaxTokenName = 128;  // characters

// What a token permits. The numbers are stored: never renumber.
enum class Role {
  kRead = 0,    // read tasks, queues and the state of the scheduler
  kSubmit = 1,  // also submit and cancel
  kWork = 2,    // also claim and settle; not submit
  kAdmin = 3,   // everything
};
std::string_view to_string(Role role);  // "read", "submit", "work", "admin"
std::optional<Role> parse_role(std::string_view text);

// A role as it is stored. kInternal for an unknown number: a newer program wrote it, or it is damaged.
Result<Role> role_of(std::int64_t number);

using TokenHash = std::array<std::uint8_t, 32>;  // SHA-256 of the whole secret text

// A token without its secret, which is not stored.
struct Token {
  std::string id;  // "t-3f9a0c51d2e4": part of the secret text, may be shown
  std::string name;
  Role role = Role::kRead;
  QueueScope scope;
  TokenHash hash = {};
  Instant created_at;  // the store's clock at create(); of a new one it does not matter

  friend bool operator==(const Token&, const Token&) = default;
};

struct TokenList {
  std::vector<Token> tokens;  // oldest first, then by id
  std::int64_t version = 0;   // changes with every create and revoke
};

// kRefused for a name or id that is empty, too long or not printable.
Result<void> check_token(const Token& token);

// What create() says when it refuses.
Error token_id_is_taken(std::string_view id);
Error too_many_tokens();

// Thread safety, durability and time: as in TaskStore.
class TokenStore {
 public:
  virtual ~TokenStore() = default;

  // Answers with the token as it is kept. kConflict if the id is taken, kOverLimit if there are kMaxTokens.
  virtual Result<Token> create(const Token& token) = 0;

  // False if there is no such token.
  virtual Result<bool> revoke(std::string_view id) = 0;

  virtual Result<TokenList> tokens() = 0;
};

}  // namespace horae
