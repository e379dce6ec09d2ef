// The history of tasks, as far as a transaction adds to it.
//
// The assignment of the present attempt follows from the running or finished range, and at last from the row that ends
// the attempt. It gets a row of its own only where a late result follows it before the end at the same time, or where no
// row ends the attempt (the turn of a recurring task). Readers put it before late results that are younger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/history.h"
#include "stores/postgres/connection/connection.h"
#include "stores/postgres/layout/places.h"

namespace horae::postgres {

class Trail {
 public:
  explicit Trail(Transaction& transaction) : transaction_(transaction) {}

  // Reads the assignments and late results of the tasks that will be noted; one round trip. Until this transaction has
  // ended, others cannot note late results of the tasks in `may_be_late`; those in `numbers` it has locked itself.
  void read(const std::vector<std::int64_t>& numbers, const std::vector<std::int64_t>& may_be_late);

  void note_assignment(std::int64_t number, int attempt, std::string_view worker, Instant started_at);
  void note_end(std::int64_t number, int attempt, std::string_view worker, Instant started_at, HistoryKind kind,
                std::optional<double> progress, std::string detail);

  // Once for each attempt and worker.
  void note_late(std::int64_t number, int attempt, std::string_view worker, std::string detail);

  // The attempt was never started.
  void forget_assignment(std::int64_t number, int attempt);

  // Sends it all. Of one task no more rows are sent than its history keeps, and histories stay bounded, however many
  // late results there are.
  void write();

 private:
  void share_ranges();
  void omit_surplus();
  std::size_t late_of(std::int64_t number) const;

  Transaction& transaction_;
  std::set<std::pair<std::int64_t, int>> assigned_;            // a row has the assignment
  std::set<std::tuple<std::int64_t, int, std::string>> late_;  // noted
  std::set<std::int64_t> gone_;                                // purged before the late result could be noted
  std::vector<TrailRange> rows_;                               // to be written, in order
  std::map<std::int64_t, std::int64_t> omitted_;               // rows that were not sent, by the number of their task
  std::vector<std::int64_t> forgotten_;
  std::vector<std::int32_t> forgotten_attempts_;
};

}  // namespace horae::postgres
