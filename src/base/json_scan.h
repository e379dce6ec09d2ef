// JSON, read where it lies: what is a client's own passes through as its exact bytes.
//
// A document tree would turn 1.0 into 1E0, round large integers and drop repeated keys. So this scanner only checks
// that a text is JSON (RFC 8259) and tells where its parts are; what is needed as a value is read from its part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace horae {

inline constexpr int kMaxJsonDepth = 64;  // arrays and objects within each other

enum class JsonKind { kNull, kBool, kNumber, kString, kArray, kObject };

// "null", "a number", "an array": for messages.
std::string_view to_string(JsonKind kind);

// A member of an object. Both parts belong to the text that was scanned.
struct JsonMember {
  std::string_view key;    // between its quotes, escapes as they stand
  std::string_view value;  // without the white space around it
};

// All of these fail with kMalformed, and a message that says what is wrong and at which byte (counted from 1): bad
// syntax, bytes that are not UTF-8, a NUL byte, more than kMaxJsonDepth levels, something after the value.

// The value alone, without the white space around it.
Result<std::string_view> scan_json(std::string_view text);

// The members of the object, in order; repeated keys are all there.
Result<std::vector<JsonMember>> scan_object(std::string_view text);

// The elements of the array, in order.
Result<std::vector<std::string_view>> scan_array(std::string_view text);

// What a value is that was found by one of the above.
JsonKind kind_of(std::string_view value);

// The text that a JSON string stands for. `value` was found by one of the above and is a string. A lone half of a
// surrogate pair (\ud800) becomes U+FFFD.
std::string unescape_json(std::string_view value);

}  // namespace horae
