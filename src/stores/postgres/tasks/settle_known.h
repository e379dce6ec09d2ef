// The common settlements, in one round trip: workers complete tasks of leases that they got through this node, or beat
// for them.
//
// Nothing has to be read first: if a lease is as the node knows it, judge() accepts what its owner says of it. If it has
// changed, the statements leave it as it is, and settle.h takes over for its tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "store/lease.h"
#include "stores/postgres/cache/known_tasks.h"
#include "stores/postgres/cache/queue_names.h"
#include "stores/postgres/connection/connection.h"
#include "stores/postgres/layout/places.h"
#include "stores/postgres/layout/ranges.h"

namespace horae::postgres {

// What a batch does to leases. Points into the settlements.
struct LeaseChanges {
  using Results = std::optional<std::vector<std::optional<std::string_view>>>;  // nothing if no task brought one

  struct Lease {
    Range range;
    int queue = 0;
    int attempt = 0;
    std::string_view owner;
  };
  // All of its tasks are completed.
  struct Whole {
    Lease lease;
    Results results;
  };
  // All of its tasks are beaten for.
  struct Beat {
    Lease lease;
    std::optional<Duration> length;
  };
  struct Report {
    std::int64_t number = 0;
    std::int64_t lease = 0;  // its first number
    int attempt = 0;
    std::optional<double> progress;
    std::optional<std::string_view> checkpoint;
  };
  struct Done {
    std::int64_t lease = 0;  // its first number
    Range range;
    Results results;
  };
  struct Kept {
    Range range;
    bool is_extended = false;
    std::optional<Duration> length;
  };
  // Anything else.
  struct Cut {
    Lease lease;
    std::vector<Done> done;
    std::vector<Kept> kept;
  };

  std::vector<std::int64_t> numbers;  // of the tasks of the settlements

  // Each in the order of their numbers.
  std::vector<Whole> whole;
  std::vector<Cut> cut;
  std::vector<Beat> beaten;
  std::vector<Report> reports;  // of what is beaten for
};

// Nothing if one of the settlements is neither a completion nor a heartbeat, names a task that another one names, or one
// of which this node does not know the lease or may not show it to the caller. It may read names of queues.
std::optional<LeaseChanges> changes_of(std::span<const Settlement> settlements, KnownTasks& known, QueueNames& names);

// Sends them.
class KnownSettlements {
 public:
  KnownSettlements(Transaction& transaction, std::span<const Settlement> settlements, const LeaseChanges& changes);

  // After the commit: the outcome of each settlement; nothing where the lease had changed. Updates what is known.
  std::vector<std::optional<SettleOutcome>> read(KnownTasks& known) const;

 private:
  struct Sent {
    std::size_t ticket = 0;
    bool has_ends = false;  // it answers until when the tasks are leased
  };

  void send_whole();
  void send_parts();
  void send_beats();

  Transaction& transaction_;
  std::span<const Settlement> settlements_;
  const LeaseChanges& changes_;
  std::vector<Sent> sent_;
};

}  // namespace horae::postgres
