// horae doctor.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "base/json_text.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/nouns/doctor_checks.h"
#include "cli/terminal/table.h"

namespace horae::cli {
namespace {

struct DoctorFlags {
  ConfigFlags config;
  ClientOptions client;
};

std::string_view word_of(Health health) {
  switch (health) {
    case Health::kGood:
      return "good";
    case Health::kNote:
      return "note";
    case Health::kBad:
      return "bad";
  }
  return "bad";
}

Colour colour_of_health(Health health) {
  if (health == Health::kGood) return Colour::kGreen;
  return health == Health::kNote ? Colour::kYellow : Colour::kRed;
}

void print_json(const Console& console, const std::vector<Finding>& findings) {
  std::string json = "[";
  for (const Finding& finding : findings) {
    json += json.size() > 1 ? "," : "";
    json += fmt::format(R"({{"health":"{}","what":"{}","detail":)", word_of(finding.health), finding.what);
    append_json_string(json, finding.detail);
    json += "}";
  }
  console.out << json << "]\n";
}

std::string in_one_line(const std::string& lines) {
  std::string line;
  for (const char c : lines) line += c == '\n' ? std::string("; ") : std::string(1, c);
  return line;
}

std::vector<Finding> examine(const Context& context, const DoctorFlags& flags, NodeClient& client) {
  const auto file = choose_config_file(flags.config.file, context.environment);
  const auto config = load_config(flags.config, context);
  if (!config.ok()) return {{Health::kBad, "configuration", in_one_line(config.error().message)}};
  std::vector<Finding> findings = {
      {Health::kGood, "configuration", file ? *file + " is valid" : "no file; using the defaults"},
      check_data_folder(config->data)};
  std::ranges::move(check_store(*config, context.clock), std::back_inserter(findings));
  std::ranges::move(check_node(client, !flags.client.node.empty()), std::back_inserter(findings));
  std::ranges::move(check_delay(config->delay, context.clock), std::back_inserter(findings));
  return findings;
}

int run_doctor(const Context& context, const DoctorFlags& flags) {
  auto client = NodeClient::open(context, flags.client);
  if (!client.ok()) return misuse(context, "doctor", flags.client, client.error());
  const auto findings = examine(context, flags, *client);
  if (flags.client.json) {
    print_json(context.console, findings);
  } else {
    Table table({{"HEALTH"}, {"CHECK"}, {"DETAIL"}});
    for (const Finding& finding : findings) {
      table.add(
          {{std::string(word_of(finding.health)), colour_of_health(finding.health)}, {finding.what}, {finding.detail}});
    }
    table.print(context.console);
  }
  const bool is_bad = std::ranges::any_of(findings, [](const Finding& each) { return each.health == Health::kBad; });
  return is_bad ? kFailed : kDone;
}

}  // namespace

void add_doctor_command(CLI::App& app, Context& context) {
  CLI::App& command = add_verb(app, "doctor", "Check configuration, data, store, clocks and node; print what to fix",
                               "  horae doctor\n"
                               "  horae doctor --store postgresql://horae@db/horae --node http://127.0.0.1:3369");
  const auto flags = std::make_shared<DoctorFlags>();
  add_config_flags(command, flags->config, {"data", "store", "postgres.allow_unsafe"});
  add_client_options(command, flags->client);
  set_action(command, context, flags, run_doctor);
}

}  // namespace horae::cli
