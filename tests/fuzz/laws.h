// What every parser promises about its refusals.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/check.h"
#include "base/result.h"
#include "base/utf8.h"

namespace horae {

inline constexpr std::size_t kLongestMessage = 300;

// The message is one short line that a terminal and a log can show.
inline void require_good_refusal(const Error& error) {
  HORAE_CHECK(error.code == ErrorCode::kMalformed, "bad text is malformed, nothing else");
  HORAE_CHECK(!error.message.empty() && error.message.size() < kLongestMessage, "a message has a limit");
  for (std::string_view rest = error.message; !rest.empty();) {
    const Utf8Char character = read_utf8(rest);
    HORAE_CHECK(character.valid && !is_control(character.code), "a message is printable");
    rest.remove_prefix(character.length);
  }
}

}  // namespace horae
