#include "base/json_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace horae {
namespace {

// What a byte means inside a string.
enum class InString : std::uint8_t { kPlain, kQuote, kBackslash, kControl, kMultibyte };

constexpr std::array<InString, 256> make_in_string() {
  std::array<InString, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = i < 0x20 ? InString::kControl : i >= 0x80 ? InString::kMultibyte : InString::kPlain;
  }
  table['"'] = InString::kQuote;
  table['\\'] = InString::kBackslash;
  return table;
}
constexpr std::array<InString, 256> kInString = make_in_string();

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

char32_t hex_value(std::string_view digits) {
  char32_t value = 0;
  for (const char c : digits) {
    value = value * 16 + static_cast<char32_t>(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return value;
}

bool is_high_surrogate(char32_t code) { return code >= 0xD800 && code < 0xDC00; }
bool is_low_surrogate(char32_t code) { return code >= 0xDC00 && code < 0xE000; }

constexpr std::size_t kEscapeBytes = 6;      // of \uXXXX
constexpr std::size_t kMostPlaceBytes = 96;  // of the place of a fault, as messages show it; its end is left out
constexpr std::size_t kMostKeyBytes = 32;    // of one key in it

// A key of a member as a part of a place: without quotes if it is a plain word.
std::string shown_key(std::string_view key) {
  const auto is_plain = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const bool is_word = !key.empty() && key.size() <= kMostKeyBytes && std::ranges::all_of(key, is_plain);
  return is_word ? std::string(key) : quote(key, kMostKeyBytes);
}

// Scans a text once. After the first fault the position stays at the end, and no later call moves it or changes the
// fault; so callers check failed() only at the end, or before long work.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool failed() const { return fault_.has_value(); }
  Error fault() const {
    const std::string where = place_.empty() ? "" : ", in " + place_;
    return {ErrorCode::kMalformed, fmt::format("{}: byte {}{}: {}", fault_->is_too_deep ? "too deep" : "not valid JSON",
                                               fault_->byte, where, fault_->what)};
  }

  // One value with nothing but white space around it.
  std::string_view only_value() {
    skip_space();
    const std::string_view value = read_value();
    expect_end();
    return value;
  }

  void expect_end() {
    skip_space();
    if (!failed() && at_ != text_.size()) fail("the JSON value ends here, but something follows");
  }

  // Calls `visit(key, value)` for each member of the object that begins here.
  template <typename Visit>
  void read_object(const Visit& visit) {
    if (!enter('{')) return;
    if (leave('}')) return;
    do {
      skip_space();
      const std::string_view key = read_string();
      if (failed()) return;
      skip_space();
      expect(':', "a colon belongs between a key and its value");
      skip_space();
      const std::string_view value = read_value();
      if (failed()) return add_place(key);
      visit(key, value);
    } while (!ends_after_item('}', "a comma or a closing brace belongs here"));
  }

  template <typename Visit>
  void read_array(const Visit& visit) {
    if (!enter('[')) return;
    if (leave(']')) return;
    std::size_t index = 0;
    do {
      skip_space();
      const std::string_view value = read_value();
      if (failed()) return add_place(index);
      visit(value);
      ++index;
    } while (!ends_after_item(']', "a comma or a closing bracket belongs here"));
  }

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

 private:
  std::string_view read_value() {
    const std::size_t from = at_;
    switch (next()) {
      case '{':
        read_object([](std::string_view, std::string_view) {});
        break;
      case '[':
        read_array([](std::string_view) {});
        break;
      case '"':
        read_string();
        break;
      case 't':
        expect_word("true");
        break;
      case 'f':
        expect_word("false");
        break;
      case 'n':
        expect_word("null");
        break;
      default:
        read_number();
    }
    return failed() ? std::string_view() : text_.substr(from, at_ - from);
  }

  // The part between the quotes, escapes not decoded.
  std::string_view read_string() {
    if (!expect('"', "a string in double quotes belongs here")) return {};
    const std::size_t from = at_;
    while (at_ < text_.size()) {
      switch (kInString[static_cast<unsigned char>(text_[at_])]) {
        case InString::kPlain:
          ++at_;
          break;
        case InString::kQuote:
          return text_.substr(from, at_++ - from);
        case InString::kBackslash:
          if (!skip_escape()) return {};
          break;
        case InString::kControl:
          fail("a control character in a string must be written as an escape, such as \\n or \\u0000");
          return {};
        case InString::kMultibyte: {
          const Utf8Char character = read_utf8(text_.substr(at_));
          if (!character.valid) {
            fail_text("this is not UTF-8");
            return {};
          }
          at_ += character.length;
        }
      }
    }
    fail("the string has no end");
    return {};
  }

  bool skip_escape() {
    const char kind = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (kind != '\0' && std::string_view("\"\\/bfnrt").find(kind) != std::string_view::npos) {
      at_ += 2;
      return true;
    }
    if (kind != 'u') return fail("unknown escape");
    const auto code = read_unicode_escape(at_);
    if (!code) return fail("\\u needs four hexadecimal digits");
    if (!is_high_surrogate(*code) && !is_low_surrogate(*code)) {
      at_ += kEscapeBytes;
      return true;
    }
    const auto second = is_high_surrogate(*code) ? read_unicode_escape(at_ + kEscapeBytes) : std::nullopt;
    if (!second || !is_low_surrogate(*second)) {
      return fail_text(fmt::format("{} is half of a surrogate pair, which is no character: give both halves",
                                   text_.substr(at_, kEscapeBytes)));
    }
    at_ += 2 * kEscapeBytes;
    return true;
  }

  // The code of the \uXXXX that begins there; nothing if there is none.
  std::optional<char32_t> read_unicode_escape(std::size_t from) const {
    if (from + kEscapeBytes > text_.size() || text_[from] != '\\' || text_[from + 1] != 'u') return std::nullopt;
    const std::string_view digits = text_.substr(from + 2, 4);
    if (!std::ranges::all_of(digits, is_hex)) return std::nullopt;
    return hex_value(digits);
  }

  void read_number() {
    const std::size_t from = at_;
    if (next() == '-') ++at_;
    if (next() == '0') {
      ++at_;
      if (is_digit(next())) return void(fail("a number does not begin with 0"));
    } else if (!skip_digits()) {
      at_ = from;
      return void(fail(at_ == text_.size() ? "a JSON value is missing" : "a JSON value belongs here"));
    }
    if (next() == '.') {
      ++at_;
      if (!skip_digits()) return void(fail("a digit belongs after the point"));
    }
    if (next() != 'e' && next() != 'E') return;
    ++at_;
    if (next() == '+' || next() == '-') ++at_;
    if (!skip_digits()) fail("a digit belongs in the exponent");
  }

  bool skip_digits() {
    const std::size_t from = at_;
    while (is_digit(next())) ++at_;
    return at_ != from;
  }

  void expect_word(std::string_view word) {
    if (failed()) return;
    if (text_.substr(at_, word.size()) != word) return void(fail("a JSON value belongs here"));
    at_ += word.size();
  }

  bool expect(char c, std::string_view otherwise) {
    if (failed()) return false;
    if (next() != c) return fail(at_ == text_.size() ? "the text ends too early" : otherwise);
    ++at_;
    return true;
  }

  bool enter(char c) {
    if (!expect(c, c == '{' ? "an object belongs here" : "an array belongs here")) return false;
    if (++depth_ > kMaxJsonDepth) {
      fault_ = Fault{at_, fmt::format("arrays and objects are nested more than {} levels deep", kMaxJsonDepth), true};
      return fail({});
    }
    return true;
  }

  // True if the array or object that was just entered is empty; its end has then been consumed.
  bool leave(char c) {
    skip_space();
    if (next() != c) return false;
    ++at_;
    --depth_;
    return true;
  }

  bool ends_after_item(char end, std::string_view otherwise) {
    skip_space();
    if (next() == ',') {
      ++at_;
      return false;
    }
    if (expect(end, otherwise)) --depth_;
    return true;
  }

  bool fail(std::string_view what) {
    if (!fault_) fault_ = Fault{at_ + 1, std::string(what)};
    at_ = text_.size();
    return false;
  }

  // The same for a string that is no valid Unicode: the message also names its place.
  bool fail_text(std::string_view what) {
    names_place_ = !failed();
    return fail(what);
  }

  // Called on the way out of each object and array that the fault is in.
  void add_place(std::string_view key) { add_step(shown_key(key)); }
  void add_place(std::size_t index) { add_step(fmt::format("[{}]", index)); }
  void add_step(std::string step) {
    if (!names_place_) return;
    if (place_.size() > kMostPlaceBytes) place_ = "...";
    if (!place_.empty() && !place_.starts_with('[')) step += '.';
    place_ = step + place_;
  }

  struct Fault {
    std::size_t byte = 0;  // counted from 1
    std::string what;
    bool is_too_deep = false;  // perhaps valid: the rest was not read
  };

  const std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::optional<Fault> fault_;
  bool names_place_ = false;
  std::string place_;  // of the fault, if it names one: "tasks[3].key"
};

void append_utf8(std::string& out, char32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
  } else {
    if (code < 0x10000) {
      out += static_cast<char>(0xE0 | (code >> 12));
    } else {
      out += static_cast<char>(0xF0 | (code >> 18));
      out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    }
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
  }
  out += static_cast<char>(0x80 | (code & 0x3F));
}

// Removes the \uXXXX at the front of `rest` and decodes it. A surrogate pair is one character.
char32_t take_unicode_escape(std::string_view& rest) {
  const auto take = [&rest] {
    const char32_t code = hex_value(rest.substr(2, 4));
    rest.remove_prefix(kEscapeBytes);
    return code;
  };
  const char32_t first = take();
  if (!is_high_surrogate(first)) return first;
  HORAE_CHECK(rest.size() >= kEscapeBytes, "a scanned string has both halves of a surrogate pair");
  return 0x10000 + ((first - 0xD800) << 10) + (take() - 0xDC00);
}

char simple_escape(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;
  }
}

}  // namespace

std::string_view to_string(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kBool:
      return "a boolean";
    case JsonKind::kNumber:
      return "a number";
    case JsonKind::kString:
      return "a string";
    case JsonKind::kArray:
      return "an array";
    case JsonKind::kObject:
      return "an object";
  }
  check_failed("kind", __FILE__, __LINE__, "a JsonKind has a name");
}

Result<std::string_view> scan_json(std::string_view text) {
  Scanner scanner(text);
  const std::string_view value = scanner.only_value();
  if (scanner.failed()) return scanner.fault();
  return value;
}

Result<std::vector<JsonMember>> scan_object(std::string_view text) {
  Scanner scanner(text);
  scanner.skip_space();
  std::vector<JsonMember> members;
  scanner.read_object([&](std::string_view key, std::string_view value) { members.push_back({key, value}); });
  scanner.expect_end();
  if (scanner.failed()) return scanner.fault();
  return members;
}

Result<std::vector<std::string_view>> scan_array(std::string_view text) {
  Scanner scanner(text);
  scanner.skip_space();
  std::vector<std::string_view> elements;
  scanner.read_array([&](std::string_view value) { elements.push_back(value); });
  scanner.expect_end();
  if (scanner.failed()) return scanner.fault();
  return elements;
}

JsonKind kind_of(std::string_view value) {
  HORAE_CHECK(!value.empty(), "a JSON value has at least one character");
  switch (value.front()) {
    case '{':
      return JsonKind::kObject;
    case '[':
      return JsonKind::kArray;
    case '"':
      return JsonKind::kString;
    case 't':
    case 'f':
      return JsonKind::kBool;
    case 'n':
      return JsonKind::kNull;
    default:
      return JsonKind::kNumber;
  }
}

std::string unescape_json(std::string_view value) {
  HORAE_CHECK(value.size() >= 2 && value.front() == '"', "only a JSON string has escapes");
  std::string_view rest = value.substr(1, value.size() - 2);
  std::string out;
  out.reserve(rest.size());
  while (!rest.empty()) {
    const std::size_t plain = std::min(rest.find('\\'), rest.size());
    out += rest.substr(0, plain);
    rest.remove_prefix(plain);
    if (rest.empty()) break;
    if (rest[1] == 'u') {
      append_utf8(out, take_unicode_escape(rest));
    } else {
      out += simple_escape(rest[1]);
      rest.remove_prefix(2);
    }
  }
  return out;
}

}  // namespace horae
