// Making tokens and telling of them: the same for the routes and for the command line on a store.
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

// {"name":"build","role":"submit","queues":["mail.*"]}. kMalformed where it cannot be read, kRefused where its meaning
// is not allowed.
Result<TokenWish> read_token_wish(std::string_view body);

struct NewToken {
  Token token;
  std::string secret;  // show it once, and forget it
};

// Makes a secret and stores the token. `random` must be unpredictable: SystemRandom.
Result<NewToken> create_token(TokenStore& store, Random& random, const TokenWish& wish);

// As JSON: one with its secret, and a list without.
std::string to_json(const NewToken& made);
std::string to_json(const TokenList& list);

}  // namespace horae
