// A TOML file as a flat list. Only this unit uses toml++. Private to the folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/settings.h"
#include "base/result.h"

namespace horae {

struct FileEntry {
  std::string key;                 // "slots.count"
  std::string place;               // "horae.toml:12"
  std::string type;                // "string", "integer", "array", ...: what TOML calls it
  std::vector<std::string> items;  // the value, or the items of a list of strings
  bool is_list = false;            // a list of strings
};

// In the order of the file. A table without entries is an entry of its own. kMalformed, with the place, for text that
// is not TOML.
Result<std::vector<FileEntry>> read_toml(std::string_view text, const std::string& file_name);

// True if settings of that kind are written in TOML as values of that type.
bool is_written_so(const FileEntry& entry, SettingKind kind);

// "4", "\"10s\"", "[\"tms\", \"demo\"]": a value as TOML.
std::string to_toml(SettingKind kind, const std::vector<std::string>& items);

}  // namespace horae
