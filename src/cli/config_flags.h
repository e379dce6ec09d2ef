// The settings of a node as flags of a command.
#pragma once

#include <CLI/App.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/config.h"
#include "base/result.h"
#include "cli/commands.h"

namespace horae::cli {

struct ConfigFlags {
  std::string file;                           // --config
  std::map<std::string, std::string> values;  // by key
};

// The settings of an agent; all others are a node's.
inline constexpr std::string_view kAgentKeys = "agent.";

// Adds --config and a flag for each setting of a node, or only for the settings in `keys`. `flags` must outlive the command.
void add_config_flags(CLI::App& command, ConfigFlags& flags, const std::vector<std::string>& keys = {});

// The configuration from flags, environment and file, in this order of precedence.
Result<Config> load_config(const ConfigFlags& flags, const Context& context);

}  // namespace horae::cli
