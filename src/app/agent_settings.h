// The settings of `horae agent run`. Private to the folder: they are rows of settings().
#pragma once

#include <vector>

#include "app/settings.h"

namespace horae {

std::vector<Setting> agent_settings();

}  // namespace horae
