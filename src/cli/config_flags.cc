#include "cli/config_flags.h"

#include <algorithm>

#include "app/settings.h"

namespace horae::cli {
namespace {

std::string type_name(SettingKind kind) {
  switch (kind) {
    case SettingKind::kText:
      return "TEXT";
    case SettingKind::kDuration:
      return "DURATION";
    case SettingKind::kNumber:
      return "NUMBER";
    case SettingKind::kBool:
      return "true|false";
    case SettingKind::kList:
      return "A,B,...";
  }
  return "TEXT";
}

void add_flag(CLI::App& command, ConfigFlags& flags, const Setting& setting) {
  command
      .add_option_function<std::string>(
          flag_of(setting), [&flags, key = setting.key](const std::string& value) { flags.values[key] = value; },
          setting.help)
      ->type_name(type_name(setting.kind))
      ->group("Settings (horae serve --print-config prints their values)");
}

}  // namespace

void add_config_flags(CLI::App& command, ConfigFlags& flags, const std::vector<std::string>& keys) {
  command
      .add_option(
          "--config", flags.file,
          "Configuration file in TOML (default: HORAE_CONFIG, else horae.toml in the current folder, if it exists)")
      ->type_name("FILE");
  for (const Setting& setting : settings()) {
    const bool is_wanted =
        keys.empty() ? !setting.key.starts_with(kAgentKeys) : std::ranges::find(keys, setting.key) != keys.end();
    if (is_wanted) add_flag(command, flags, setting);
  }
}

Result<Config> load_config(const ConfigFlags& flags, const Context& context) {
  return horae::load_config({.file = choose_config_file(flags.file, context.environment),
                             .environment = context.environment,
                             .flags = flags.values});
}

}  // namespace horae::cli
