// The table of settings as text: a TOML file, and docs/reference/configuration.md.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "app/config.h"
#include "app/config_file.h"
#include "app/settings.h"

namespace horae {
namespace {

constexpr std::size_t kCommentWidth = 100;

std::string table_of(const Setting& setting) {
  const std::size_t dot = setting.key.find('.');
  return dot == std::string::npos ? "" : setting.key.substr(0, dot);
}

std::string name_of(const Setting& setting) { return setting.key.substr(setting.key.find('.') + 1); }

// `text` as lines of comment, broken between words.
std::string comment(std::string_view text) {
  std::string lines;
  std::string line = "#";
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    if (line.size() + 1 + space > kCommentWidth) {
      lines += line + "\n";
      line = "#";
    }
    line += " " + std::string(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return lines + line + "\n";
}

std::string default_of(const Setting& setting) {
  if (setting.key == "store") return "`\"sqlite:horae-data/horae.db\"`";
  return fmt::format("`{}`", to_toml(setting.kind, setting.write(Config{})));
}

std::string settings_table() {
  std::string text;
  std::string table = "-";
  for (const Setting& setting : settings()) {
    if (table_of(setting) != table) {
      table = table_of(setting);
      text += fmt::format("\n### {}\n\n", table.empty() ? "Before all tables" : "`[" + table + "]`");
      text += "| key | default | allowed | what it does |\n|---|---|---|---|\n";
    }
    text += fmt::format("| `{}` | {} | {} | {} |\n", setting.key, default_of(setting), setting.allowed, setting.help);
  }
  return text;
}

std::string names_table() {
  std::string text = "| key | flag of `horae serve` | environment |\n|---|---|---|\n";
  for (const Setting& setting : settings()) {
    text += fmt::format("| `{}` | `{}` | `{}` |\n", setting.key, flag_of(setting), environment_of(setting));
  }
  return text;
}

std::string seeds_table() {
  std::string text = "| here | there |\n|---|---|\n";
  for (const Setting& setting : settings()) {
    if (!setting.seeds.empty()) text += fmt::format("| `{}` | {} |\n", setting.key, setting.seeds);
  }
  text += "| `[kafka]` | Chronos: Kafka connection settings |\n";
  for (const DelaySetting& setting : delay_settings()) {
    if (!setting.seeds.empty()) text += fmt::format("| `delay.NAME.{}` | {} |\n", setting.key, setting.seeds);
  }
  return text;
}

constexpr std::string_view kBeginning = R"(# Configuration

Generated from the table in `src/app/settings.cc` by `make docs`; a test fails when the two differ.

`horae serve` needs no configuration: it keeps its tasks in SQLite in `./horae-data` and serves 127.0.0.1:3369.

## Where values come from

A setting can be given in three places. The first of these that has it wins; a list replaces the list of a later place:

1. a flag: `horae serve --slots-count 4`
2. the environment: `HORAE_SLOTS_COUNT=4`
3. the file: `count = 4` in the table `[slots]`
4. the default

The file is the one that `--config FILE` names, else that of `HORAE_CONFIG`, else `horae.toml` in the current folder if
it exists. It is TOML: durations are strings (`"1h30m"`, `"50ms"`), numbers have no quotes, lists are lists of strings.
Flags and variables have no quotes, and lists are separated by commas; an empty text is an empty list.

`horae serve --print-config` prints the effective configuration as a file with comments and starts nothing. Without a
file, its output is a good first one. It contains the URL of the store as it was given: keep passwords out of that
(`PGPASSFILE`).

Unknown keys, unknown variables that begin with `HORAE_` and bad values are errors; all of them are reported at once,
each with its place. Besides the settings there are `HORAE_CONFIG` (the file) and the variables of client commands such
as `horae task list`: `HORAE_NODE` (the node that they call), `HORAE_TOKEN` (the secret of their token) and `HORAE_CA`
(a file with the certificates that they trust). Client commands read no file.

## Settings
)";

constexpr std::string_view kSeeds = R"(
## Names of the systems that Horae grew from

)";

constexpr std::string_view kEnd = R"(
What has no setting here, and why:

| there | here |
|---|---|
| TMS: `HEART_BEAT_INTERVAL_SEC` | always a third of the lease |
| Scylla: `retention_period` | of each queue: `horae queue set QUEUE --retention 24h` (7 days by default) |
| SHIELD: levels | priorities 0 to 255 of the tasks; level = 255 - priority |
| master/slave: `SLAVE_COL_NAME`, `TASK_COL_NAME` | the layout of the store belongs to Horae |
)";

}  // namespace

std::string print_config(const Config& config) {
  std::string text =
      comment("Configuration of Horae. docs/reference/configuration.md explains where values come from.");
  std::string table;
  for (const Setting& setting : settings()) {
    text += "\n";
    if (table_of(setting) != table) {
      table = table_of(setting);
      text += fmt::format("[{}]\n", table);
    }
    text += comment(fmt::format("{} Allowed: {}.", setting.help, setting.allowed));
    text += fmt::format("{} = {}\n", name_of(setting), to_toml(setting.kind, setting.write(config)));
  }
  return text + print_delay_config(config.delay);
}

std::string configuration_document() {
  std::string text(kBeginning);
  text += settings_table() + delay_config_document();
  text += "\n## Flags and variables\n\n" + names_table();
  text += std::string(kSeeds) + seeds_table() + std::string(kEnd);
  return text;
}

}  // namespace horae
