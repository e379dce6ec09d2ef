// Writes JSON objects member by member.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/duration.h"
#include "base/json_text.h"
#include "base/time_text.h"
#include "base/uuid.h"

namespace horae {

// Appends an object to `out`: the constructor writes the opening brace, end() the closing one.
//
//   JsonObject object(out);
//   object.add("id", task.id);
//   object.add_json("spec", task.spec);
//   object.end();
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }

  void add(std::string_view name, std::string_view text) { append_json_string(key(name), text); }
  void add(std::string_view name, const char* text) { add(name, std::string_view(text)); }
  void add(std::string_view name, const std::string& text) { add(name, std::string_view(text)); }
  void add(std::string_view name, std::same_as<bool> auto value) { key(name) += value ? "true" : "false"; }
  template <std::integral T>
  requires(!std::same_as<T, bool>) void add(std::string_view name, T value) {
    fmt::format_to(std::back_inserter(key(name)), "{}", value);
  }
  void add(std::string_view name, double value) { fmt::format_to(std::back_inserter(key(name)), "{}", value); }
  void add(std::string_view name, const Uuid& id) { add_plain(name, to_string(id)); }
  void add(std::string_view name, Instant time) { add_plain(name, format_instant(time)); }
  void add(std::string_view name, Duration duration) { add_plain(name, format_duration(duration)); }

  // null if absent.
  template <typename T>
  void add(std::string_view name, const std::optional<T>& value) {
    if (value) {
      add(name, *value);
    } else {
      add_json(name, "null");
    }
  }

  // `json` is a complete JSON value.
  void add_json(std::string_view name, std::string_view json) { key(name) += json; }
  void add_optional_json(std::string_view name, const std::optional<std::string>& json) {
    add_json(name, json ? std::string_view(*json) : "null");
  }

  // Writes the name; the caller appends the value to the returned string.
  std::string& key(std::string_view name) {
    out_ += is_first_ ? std::string_view("\"") : std::string_view(",\"");
    is_first_ = false;
    out_ += name;
    out_ += "\":";
    return out_;
  }

  void end() { out_ += '}'; }

 private:
  // Text in which no character needs an escape.
  void add_plain(std::string_view name, std::string_view text) {
    std::string& out = key(name);
    out += '"';
    out += text;
    out += '"';
  }

  std::string& out_;
  bool is_first_ = true;
};

// Appends an array; `append(out, item)` writes each element.
template <typename Items, typename Append>
void append_json_array(std::string& out, const Items& items, const Append& append) {
  out += '[';
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) out += ',';
    is_first = false;
    append(out, item);
  }
  out += ']';
}

}  // namespace horae
