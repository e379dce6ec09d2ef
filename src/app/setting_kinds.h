// The kinds of rows in the table of settings.cc: how a value is read, checked and written. Private to the folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/settings.h"

namespace horae {

// The name and the description of a row.
struct SettingText {
  std::string key;
  std::string help;
  std::string seeds = {};
};

// Where a value is kept.
template <typename T>
using Member = T& (*)(Config&);

// What a value (or an item of a list) is allowed to be. The error says what is wrong with it.
using CheckText = Result<void> (*)(std::string_view);

// Any text that passes the check.
Setting text_setting(const SettingText& text, std::string allowed, CheckText check, Member<std::string> member);

// `least` to `most` items that pass the check, none of them twice.
struct ListBounds {
  std::size_t least = 0;
  std::size_t most = 0;
};
Setting list_setting(const SettingText& text, std::string allowed, ListBounds bounds, CheckText check,
                     Member<std::vector<std::string>> member);

// A duration between the bounds. All members are set; the first one is read.
struct DurationBounds {
  Duration least;
  Duration most;
};
Setting duration_setting(const SettingText& text, DurationBounds bounds, std::vector<Member<Duration>> members);

// A whole number between the bounds.
struct NumberBounds {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
Setting number_setting(const SettingText& text, NumberBounds bounds, Member<int> member);
Setting number_setting(const SettingText& text, NumberBounds bounds, Member<std::size_t> member);

// True or false.
Setting bool_setting(const SettingText& text, Member<bool> member);

// One of several words.
Setting log_level_setting(const SettingText& text, Member<LogLevel> member);
Setting log_format_setting(const SettingText& text, Member<LogFormat> member);

// The checks.
Result<void> check_folder(std::string_view path);
Result<void> check_listen_address(std::string_view address);  // "127.0.0.1:3369", "https://0.0.0.0:3369"
Result<void> check_any(std::string_view text);                // accepts everything
Result<void> check_unsafe_name(std::string_view name);        // of a setting of PostgreSQL

}  // namespace horae
