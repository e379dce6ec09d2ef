// horae delay import.
#pragma once

#include <CLI/App.hpp>

#include "cli/commands.h"

namespace horae::cli {

void add_delay_import(CLI::App& noun, Context& context);

}  // namespace horae::cli
