// Creates tokens and writes them as JSON, for the routes and for the command line on a store.
#pragma once

#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "store/token_store.h"

namespace horae {

struct TokenWish {
  std::string name;
  Role role = Role::kRead;
  QueueScope scope;
};

// {"name":"build","role":"submit","queues":["mail.*"]}. kMalformed where it cannot be parsed, kRefused where a
// value is not allowed.
Result<TokenWish> read_token_wish(std::string_view body);

struct NewToken {
  Token token;
  std::string secret;  // show it once, and keep it nowhere
};

// Generates a secret and stores the token. `random` must be unpredictable: SystemRandom.
Result<NewToken> create_token(TokenStore& store, Random& random, const TokenWish& wish);

// As JSON: a new token with its secret, a list without secrets.
std::string to_json(const NewToken& made);
std::string to_json(const TokenList& list);

}  // namespace horae
