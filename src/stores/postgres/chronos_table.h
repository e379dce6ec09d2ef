// The table of Chronos, in a database that is not Horae's: for those who move from one to the other.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/message.h"

namespace horae {

// Not thread-safe. Reads only.
class ChronosTable {
 public:
  virtual ~ChronosTable() = default;

  // Up to `max` messages with an id after `after`, in the order of ids; none at the end. Those that are readied are among
  // them: the node of Chronos that readied them may be gone.
  virtual Result<std::vector<Message>> read(std::string_view after, std::size_t max) = 0;
};

// `table`: its name, with its schema if need be; empty: "hanger" or "schedules", whichever is there. kNotFound if there is
// none, kRefused if a column is missing, kUnavailable if the server cannot be reached. Columns may be of the types that
// the document of Chronos gives them, or of those that its code does: values as jsonb, headers as an object.
Result<std::unique_ptr<ChronosTable>> open_chronos_table(const std::string& url, const std::string& table);

}  // namespace horae
