// Zero-copy JSON: values that belong to a client pass through Horae byte for byte.
//
// A document tree would turn 1.0 into 1E0, round large integers and drop repeated keys. So this scanner only validates
// a text (RFC 8259) and returns views of its parts; callers convert only the parts whose value they need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace horae {

inline constexpr int kMaxJsonDepth = 64;  // nested arrays and objects

enum class JsonKind { kNull, kBool, kNumber, kString, kArray, kObject };

// "null", "a number", "an array": for messages.
std::string_view to_string(JsonKind kind);

// A member of an object. Both views point into the scanned text.
struct JsonMember {
  std::string_view key;    // without the quotes, escapes not decoded
  std::string_view value;  // without the white space around it
};

// All scan functions fail with kMalformed, and a message that says what is wrong and at which byte (counted from 1),
// for bad syntax, bytes that are not UTF-8, a NUL byte, an escape that is half of a surrogate pair (\ud800),
// more than kMaxJsonDepth levels, and anything after the value. For a string that is no valid Unicode the message also
// names its place: tasks[3].key.

// The value alone, without the white space around it.
Result<std::string_view> scan_json(std::string_view text);

// The members of the object, in order, including all that repeat a key.
Result<std::vector<JsonMember>> scan_object(std::string_view text);

// The elements of the array, in order.
Result<std::vector<std::string_view>> scan_array(std::string_view text);

// The kind of a value that one of the scan functions returned.
JsonKind kind_of(std::string_view value);

// Decodes a JSON string. `value` is a string, with its quotes, that one of the scan functions returned; so the result is
// valid UTF-8, and different texts stay different.
std::string unescape_json(std::string_view value);

}  // namespace horae
