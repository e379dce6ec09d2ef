// `horae migrate`: brings a store to the schema of this version.
#pragma once

#include <iosfwd>
#include <string>

#include "app/open_store.h"
#include "base/result.h"

namespace horae {

// Tells people on `out` what was done, or with `dry_run` what would be. The folder of an embedded database must exist.
Result<void> migrate_store(const std::string& url, bool dry_run, std::ostream& out);

}  // namespace horae
