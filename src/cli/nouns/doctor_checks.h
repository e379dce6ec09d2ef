// What `horae doctor` looks at. Nothing is changed by looking.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config.h"
#include "base/clock.h"
#include "cli/client/client.h"

namespace horae::cli {

enum class Health { kGood, kNote, kBad };

struct Finding {
  Health health = Health::kGood;
  std::string what;    // "store"
  std::string detail;  // how it is, and what to do if it is not good
};

// The folder of the data: it exists, is ours to write and nobody else's to read.
Finding check_data_folder(const std::string& path);

// The store: that it opens, the rights there, its schema, its durability, and its clock against ours. Several findings,
// or one if it cannot be reached. A store that a node holds, or that is not there yet, is left alone.
std::vector<Finding> check_store(const Config& config, const Clock& clock);

// Whether a node answers, is ready, and is of this version.
std::vector<Finding> check_node(NodeClient& client);

}  // namespace horae::cli
