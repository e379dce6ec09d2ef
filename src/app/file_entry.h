// What is written in a configuration file.
#pragma once

#include <string>
#include <vector>

namespace horae {

// How a value is written in TOML. In the environment and in flags it is the same without quotes, and the items of a
// list have commas between them.
enum class SettingKind { kText, kDuration, kNumber, kBool, kList };

struct FileEntry {
  std::string key;                 // "slots.count"
  std::string place;               // "horae.toml:12"
  std::string type;                // "string", "integer", "array", ...: what TOML calls it
  std::vector<std::string> items;  // the value, or the items of a list of strings
  bool is_list = false;            // a list of strings
};

// True if settings of that kind are written in TOML as values of that type.
bool is_written_so(const FileEntry& entry, SettingKind kind);

// "4", "\"10s\"", "[\"tms\", \"demo\"]": a value as TOML.
std::string to_toml(SettingKind kind, const std::vector<std::string>& items);

}  // namespace horae
