// What the role of a node may do in its database.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace horae {

struct PostgresRights {
  std::string role;                  // whose they are
  std::vector<std::string> missing;  // in words: "create tables in schema public"; empty if it may do all that it must
};

// A node creates tables and their daily partitions, drops the latter, and reads and writes all of them. Changes
// nothing.
Result<PostgresRights> look_up_postgres_rights(const std::string& url);

}  // namespace horae
