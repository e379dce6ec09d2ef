// The secret text of a token: horae_t-3f9a0c51d2e4_ and 43 random characters.
//
// The text is shown once, when it is created, and kept nowhere: a store has its hash. 32 random bytes need no slow
// hash.
#pragma once

#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "store/token_store.h"

namespace horae {

struct NewSecret {
  std::string id;    // "t-3f9a0c51d2e4"
  std::string text;  // give it to the caller, and keep it nowhere
  TokenHash hash = {};
};

// `random` must be unpredictable: SystemRandom.
NewSecret make_secret(Random& random);

// The parts of a secret text. They are not verified: compare the hash with the stored one.
struct ReadSecret {
  std::string_view id;  // a part of the text
  TokenHash hash = {};
};

// kMalformed for a text that make_secret() cannot have made. The error does not quote it.
Result<ReadSecret> read_secret(std::string_view text);

// Compares in constant time.
bool are_same(const TokenHash& one, const TokenHash& other);

}  // namespace horae
