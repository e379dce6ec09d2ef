// The secret text that a caller shows: horae_t-3f9a0c51d2e4_ and 43 characters that nobody can guess.
//
// The text is shown once, when it is made, and kept nowhere: a store has its hash. 32 random bytes need no slow hash.
#pragma once

#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "store/token_store.h"

namespace horae {

struct NewSecret {
  std::string id;    // "t-3f9a0c51d2e4"
  std::string text;  // tell it to the one who asked, and forget it
  TokenHash hash = {};
};

// `random` must be unpredictable: SystemRandom.
NewSecret make_secret(Random& random);

// What a secret text says of itself. Whether it is true, its hash tells.
struct ReadSecret {
  std::string_view id;  // a part of the text
  TokenHash hash = {};
};

// kMalformed for a text that make_secret() cannot have made. The error does not repeat it.
Result<ReadSecret> read_secret(std::string_view text);

// Takes the same time wherever they differ.
bool are_same(const TokenHash& one, const TokenHash& other);

}  // namespace horae
