// The table of all settings: the only source of reading them, flags, --print-config and the documentation.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/config.h"
#include "app/file_entry.h"
#include "base/result.h"

namespace horae {

struct Setting {
  std::string key;      // "slots.count": table and name in TOML; keys without a dot come before all tables
  SettingKind kind;     //
  std::string help;     // a sentence or two
  std::string allowed;  // "1 to 64"
  std::string seeds;    // its names in the systems that Horae grew from; empty if they have none

  // Sets a value. The error says what is wrong with it, not where it came from.
  std::function<Result<void>(Config&, const std::vector<std::string>&)> read;

  // The value as read() takes it: one text, or the items of a list.
  std::function<std::vector<std::string>(const Config&)> write;
};

// In the order of the documentation.
std::span<const Setting> settings();

// The setting with that key, or nothing.
const Setting* find_setting(std::string_view key);

std::string flag_of(const Setting& setting);         // "--slots-count"
std::string environment_of(const Setting& setting);  // "HORAE_SLOTS_COUNT"

// The setting that was probably meant by a key that does not exist, or by the rest of a variable after HORAE_: one of
// the seeds' names, a key in another table, a typing mistake. Nothing if no key is near.
const Setting* nearest_setting(std::string_view unknown);

// The items of "a,b,c"; none of "".
std::vector<std::string> split_items(std::string_view text);
std::string join_items(const std::vector<std::string>& items);

}  // namespace horae
