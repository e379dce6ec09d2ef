// `horae migrate`: brings a store to the schema of this version.
#pragma once

#include <iosfwd>
#include <string>

#include "app/open_store.h"
#include "base/result.h"

namespace horae {

struct MigrateOptions {
  bool dry_run = false;  // only tell what would be done
  bool json = false;  // tell it to programs: {"store":..,"from":0,"to":2,"changed":true,"steps":[{"version":1,..},..]}
};

// Tells on `out` what was done, or would be. The folder of an embedded database must exist.
Result<void> migrate_store(const std::string& url, const MigrateOptions& options, std::ostream& out);

}  // namespace horae
