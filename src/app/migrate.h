// `horae migrate`: brings a store to the schema of this version.
#pragma once

#include <iosfwd>
#include <string>

#include "app/open_store.h"
#include "base/result.h"

namespace horae {

struct MigrateOptions {
  bool dry_run = false;  // only report what would be done
  bool json = false;     // report as JSON: {"store":..,"from":0,"to":2,"changed":true,"steps":[{"version":1,..},..]}
};

// Prints to `out` what was done, or would be done. The folder of an embedded database must exist.
Result<void> migrate_store(const std::string& url, const MigrateOptions& options, std::ostream& out);

}  // namespace horae
