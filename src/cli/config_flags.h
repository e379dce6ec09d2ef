// The settings of a node as flags of a command.
#pragma once

#include <CLI/App.hpp>
#include <map>
#include <string>
#include <vector>

#include "app/config.h"
#include "base/result.h"
#include "cli/commands.h"

namespace horae::cli {

struct ConfigFlags {
  std::string file;                           // --config
  std::map<std::string, std::string> values;  // by key
};

// Adds --config and a flag for each setting, or for those of `keys` only. `flags` must outlive the command.
void add_config_flags(CLI::App& command, ConfigFlags& flags, const std::vector<std::string>& keys = {});

// The configuration that the flags, the environment and the file make together.
Result<Config> load_config(const ConfigFlags& flags, const Context& context);

}  // namespace horae::cli
