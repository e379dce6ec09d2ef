#include "app/config_file.h"

#include <fmt/format.h>

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "base/json_text.h"

namespace horae {
namespace {

std::string place_of(const toml::source_region& source, const std::string& file_name) {
  return fmt::format("{}:{}", file_name, source.begin.line);
}

// Values are compared and checked as text: the table of settings interprets them.
std::string text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  std::ostringstream out;
  node.visit([&out](const auto& value) { out << value; });
  return out.str();
}

std::string type_of(const toml::node& node) {
  std::ostringstream out;
  out << node.type();
  return out.str();
}

FileEntry make_entry(std::string key, const toml::node& node, const std::string& file_name) {
  FileEntry entry{
      .key = std::move(key), .place = place_of(node.source(), file_name), .type = type_of(node), .items = {}};
  const toml::array* array = node.as_array();
  entry.is_list =
      array != nullptr && std::ranges::all_of(*array, [](const toml::node& item) { return item.is_string(); });
  if (!entry.is_list) {
    entry.items = {text_of(node)};
    return entry;
  }
  for (const toml::node& item : *array) entry.items.push_back(text_of(item));
  return entry;
}

void flatten(const toml::table& table, const std::string& prefix, const std::string& file_name,
             std::vector<FileEntry>& out) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    const toml::table* inner = node.as_table();
    if (inner != nullptr && !inner->empty()) {
      flatten(*inner, key + ".", file_name, out);
    } else {
      out.push_back(make_entry(key, node, file_name));
    }
  }
}

// A basic string of TOML, whose escapes are those of JSON.
std::string quoted(const std::string& text) {
  std::string result;
  append_json_string(result, text);
  return result;
}

}  // namespace

// The named boundary for toml++, which throws what it cannot read.
Result<std::vector<FileEntry>> read_toml(std::string_view text, const std::string& file_name) {
  try {
    const toml::table table = toml::parse(text, file_name);
    std::vector<FileEntry> entries;
    flatten(table, "", file_name, entries);
    return entries;
  } catch (const toml::parse_error& error) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("{}: is not TOML: {}", place_of(error.source(), file_name), error.description())};
  }
}

bool is_written_so(const FileEntry& entry, SettingKind kind) {
  switch (kind) {
    case SettingKind::kNumber:
      return entry.type == "integer";
    case SettingKind::kBool:
      return entry.type == "boolean";
    case SettingKind::kList:
      return entry.is_list;
    case SettingKind::kText:
    case SettingKind::kDuration:
      return entry.type == "string";
  }
  return false;
}

std::string to_toml(SettingKind kind, const std::vector<std::string>& items) {
  if (kind == SettingKind::kNumber || kind == SettingKind::kBool) return items.front();
  if (kind != SettingKind::kList) return quoted(items.front());
  std::string list;
  for (const std::string& item : items) list += (list.empty() ? "" : ", ") + quoted(item);
  return "[" + list + "]";
}

}  // namespace horae
