// The checks of `horae doctor`. They change nothing.
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
  std::string detail;  // the state, and what to fix unless it is good
};

// The data folder: exists, is writable by this user, and not readable by other users.
Finding check_data_folder(const std::string& path);

// The store: reachable, permissions, schema, durability, clock skew. Several findings, or one if it cannot be reached.
// Does not touch an embedded store that a node uses or that does not exist yet.
std::vector<Finding> check_store(const Config& config, const Clock& clock);

// The node: reachable, ready, accepts this user, and of this version. If the user has named it, it is expected to run.
std::vector<Finding> check_node(NodeClient& client, bool is_expected);

// The topics of the delay queues: a broker answers, they exist, and nothing about them may lose messages. None without
// delay queues.
std::vector<Finding> check_delay(const DelayConfig& config, const Clock& clock);

}  // namespace horae::cli
