// A TOML file as a flat list. Only this unit uses toml++. Private to the folder. It also has the functions of file_entry.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/file_entry.h"
#include "base/result.h"

namespace horae {

// In the order of the file. A table without entries is an entry of its own. kMalformed, with the place, for text that
// is not TOML.
Result<std::vector<FileEntry>> read_toml(std::string_view text, const std::string& file_name);

}  // namespace horae
