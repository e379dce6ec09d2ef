#include "app/config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "app/config_file.h"
#include "app/open_store.h"
#include "app/settings.h"
#include "base/quote.h"
#include "http/listen_address.h"
#include "model/task.h"

namespace horae {
namespace {

constexpr std::string_view kPrefix = "HORAE_";
constexpr std::size_t kMaxFileBytes = 1 << 20;

// Variables that are no settings.
bool is_of_the_command_line(std::string_view name) {
  return name == kConfigVariable || name == kNodeVariable || name == kTokenVariable || name == kCaVariable;
}

// The value of one setting, and its place.
struct Saying {
  std::string key;
  std::string place;  // "horae.toml:12", "HORAE_SLOTS_COUNT", "--slots-count"
  std::vector<std::string> items;
};

std::string suggest(const std::string& nearest) {
  if (nearest.empty()) return "; horae serve --print-config shows all settings";
  return fmt::format("; did you mean {}?", nearest);
}

// A request that is larger than the limit for all together would never be accepted.
Result<void> check_limits(const HttpLimits& limits) {
  if (limits.bytes_in_flight >= limits.body_bytes + limits.head_bytes) return {};
  return Error{ErrorCode::kMalformed,
               fmt::format("http.max_bytes_in_flight = {} is less than one request may have; give at least {} "
                           "(http.max_body and http.max_head together)",
                           limits.bytes_in_flight, limits.body_bytes + limits.head_bytes)};
}

// Puts values into a configuration, and collects all errors instead of stopping at the first.
class Reading {
 public:
  void file(const std::vector<FileEntry>& entries) {
    for (const FileEntry& entry : entries) {
      if (DelayReading::has(entry.key)) {
        note(delay_.take(entry));
        continue;
      }
      const Setting* setting = find_setting(entry.key);
      if (setting == nullptr) {
        const Setting* nearest = nearest_setting(entry.key);
        note(fmt::format("{}: unknown key {}{}", entry.place, entry.key,
                         suggest(nearest != nullptr ? nearest->key : "")));
      } else if (!is_written_so(entry, setting->kind)) {
        note(fmt::format("{}: {} is of type {}; write it like this: {} = {}", entry.place, entry.key, entry.type,
                         entry.key, to_toml(setting->kind, setting->write(defaults_))));
      } else {
        take(*setting, {.key = entry.key, .place = entry.place, .items = entry.items});
      }
    }
  }

  void environment(const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) {
      if (!name.starts_with(kPrefix) || is_of_the_command_line(name)) continue;
      if (DelayReading::is_variable(name)) {
        note(delay_.take_variable(name, value));
        continue;
      }
      const auto setting = std::ranges::find(settings(), name, environment_of);
      if (setting == settings().end()) {
        const Setting* nearest = nearest_setting(std::string_view(name).substr(kPrefix.size()));
        note(fmt::format("unknown variable {}{}", name, suggest(nearest != nullptr ? environment_of(*nearest) : "")));
      } else {
        take(*setting, say(*setting, name, value));
      }
    }
  }

  void flags(const std::map<std::string, std::string>& flags) {
    for (const auto& [key, value] : flags) {
      const Setting* setting = find_setting(key);
      HORAE_CHECK(setting != nullptr, "flags are made from the table");
      take(*setting, say(*setting, flag_of(*setting), value));
    }
  }

  Result<Config> result() {
    Config config = config_;
    std::vector<std::string> faults;
    config.delay = delay_.finish(faults);
    for (const std::string& fault : faults) note(fault);
    if (!faults_.empty()) return Error{ErrorCode::kMalformed, faults_};
    if (auto checked = check_exposure(config.http); !checked.ok()) return checked.error();
    if (auto checked = check_limits(config.http.limits); !checked.ok()) return checked.error();
    if (!said_.contains("store")) config.store = "sqlite:" + config.data + "/horae.db";
    return config;
  }

 private:
  static Saying say(const Setting& setting, std::string place, const std::string& value) {
    return {.key = setting.key,
            .place = std::move(place),
            .items = setting.kind == SettingKind::kList ? split_items(value) : std::vector{value}};
  }

  void take(const Setting& setting, const Saying& saying) {
    said_.insert(setting.key);
    const auto read = setting.read(config_, saying.items);
    if (read.ok()) return;
    note(fmt::format("{}: {} = {} {}; give {}", saying.place, setting.key,
                     quote(without_password(join_items(saying.items))), read.error().message, setting.allowed));
  }

  void note(const std::string& fault) {
    if (!fault.empty()) faults_ += (faults_.empty() ? "" : "\n") + fault;
  }

  const Config defaults_{};
  Config config_;
  DelayReading delay_;
  std::set<std::string> said_;
  std::string faults_;
};

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("configuration file {}: cannot be read; name another with --config FILE", quote(path))};
  }
  std::string text(kMaxFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMaxFileBytes || in.bad()) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("configuration file {}: is no file of at most {} bytes", quote(path), kMaxFileBytes)};
  }
  return text;
}

}  // namespace

std::map<std::string, std::string> horae_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (!text.starts_with(kPrefix) || equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::optional<std::string> choose_config_file(const std::string& named,
                                              const std::map<std::string, std::string>& environment) {
  if (!named.empty()) return named;
  const auto found = environment.find(std::string(kConfigVariable));
  if (found != environment.end() && !found->second.empty()) return found->second;
  std::error_code failed;
  if (std::filesystem::exists(kDefaultConfigFile, failed)) return kDefaultConfigFile;
  return std::nullopt;
}

Result<Config> load_config(const ConfigSources& sources) {
  Reading reading;
  if (sources.file) {
    const auto text = read_file(*sources.file);
    if (!text.ok()) return text.error();
    const auto entries = read_toml(*text, *sources.file);
    if (!entries.ok()) return entries.error();
    reading.file(*entries);
  }
  reading.environment(sources.environment);
  reading.flags(sources.flags);
  return reading.result();
}

}  // namespace horae
