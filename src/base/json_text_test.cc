#include "base/json_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "base/utf8.h"

namespace horae {
namespace {

std::string json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

struct Form {
  std::string text;
  std::string json;
};

TEST(JsonText, AppendsAQuotedString) {
  std::string out = "{\"key\":";
  append_json_string(out, "value");
  EXPECT_EQ(out, R"({"key":"value")");
}

TEST(JsonText, EscapesQuotesBackslashesAndControlCharacters) {
  const std::vector<Form> forms = {
      {"", R"("")"},
      {R"(say "hi")", R"("say \"hi\"")"},
      {R"(a\b)", R"("a\\b")"},
      {"a\nb\rc\td", R"("a\nb\rc\td")"},
      {std::string("\0\x01\x1f", 3), R"("\u0000\u0001\u001f")"},
      {"\x1b[31m", R"("\u001b[31m")"},
      {"\x7f", R"("\u007f")"},
      {"\u009b", R"("\u009b")"},
      {"\u2028\u2029", R"("\u2028\u2029")"},
  };
  for (const auto& [text, expected] : forms) EXPECT_EQ(json(text), expected);
}

TEST(JsonText, KeepsCharactersOfAllLanguages) {
  for (const std::string text : {"Grüße", "минута", "時間", "\U0001f552", "/", "\U0010ffff"}) {
    EXPECT_EQ(json(text), '"' + text + '"');
  }
}

TEST(JsonText, ReplacesWhatIsNotUtf8) {
  const std::vector<Form> forms = {
      {"a\xff z", "\"a\ufffd z\""},
      {"\xc3", "\"\ufffd\""},                      // cut off
      {"\xc0\x80", "\"\ufffd\ufffd\""},            // overlong
      {"\xed\xa0\x80", "\"\ufffd\ufffd\ufffd\""},  // a surrogate
      {"\xc3\"", "\"\ufffd\\\"\""},                // the quote is not swallowed
  };
  for (const auto& [text, expected] : forms) EXPECT_EQ(json(text), expected);
}

// Strictly reads a JSON string as append_json_string() writes it; fails the property on anything else.
std::string unquoted(std::string_view json) {
  RC_ASSERT(json.size() >= 2 && json.front() == '"' && json.back() == '"');
  json = json.substr(1, json.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < json.size(); ++i) {
    RC_ASSERT(static_cast<unsigned char>(json[i]) >= 0x20 && json[i] != '"');
    if (json[i] != '\\') {
      out += json[i];
      continue;
    }
    RC_ASSERT(++i < json.size());
    const std::string_view short_names = "\"\\nrt";
    const std::string_view short_values = "\"\\\n\r\t";
    if (const auto place = short_names.find(json[i]); place != std::string_view::npos) {
      out += short_values[place];
      continue;
    }
    RC_ASSERT(json[i] == 'u' && i + 4 < json.size());
    const auto code = std::stoul(std::string(json.substr(i + 1, 4)), nullptr, 16);
    RC_ASSERT(code < 0x80U);  // the generators below make ASCII only
    out += static_cast<char>(code);
    i += 4;
  }
  return out;
}

RC_GTEST_PROP(JsonText, ReadsBackToTheSameAscii, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  RC_ASSERT(unquoted(json(text)) == text);
}

RC_GTEST_PROP(JsonText, IsOneQuotedLineForAnyBytes, ()) {
  const auto bytes = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 256));
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  const std::string quoted = json(text);

  bool escaped = false;
  for (const char c : quoted.substr(1, quoted.size() - 2)) {
    RC_ASSERT(static_cast<unsigned char>(c) >= 0x20);
    RC_ASSERT(escaped || c != '"');
    escaped = !escaped && c == '\\';
  }
  RC_ASSERT(!escaped);
  for (std::string_view rest = quoted; !rest.empty(); rest.remove_prefix(read_utf8(rest).length)) {
    RC_ASSERT(read_utf8(rest).valid);
  }
}

}  // namespace
}  // namespace horae
