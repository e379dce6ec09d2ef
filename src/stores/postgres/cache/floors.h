// Where the ready tasks of a queue begin, as a hint.
//
// A claim reads the index of ready ranges from its low end. Entries of ranges that are gone stay there until a vacuum,
// and as long as any session holds an old snapshot no vacuum may take them: claims would walk over all of them, more
// each second. A floor lets them begin where live entries begin. It is a hint of this node and may be wrong, because
// other nodes make tasks ready as well: so each second one claim ignores it. That is why the order of claims holds
// within a second across nodes.
#pragma once

#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"

namespace horae::postgres {

// Thread-safe.
class Floors {
 public:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  // One look at a queue.
  struct Look {
    std::int64_t floor = kNone;  // begin here
    std::uint64_t changes = 0;   // so many came before
    MonotonicTime began;
  };

  explicit Floors(const Clock& clock) : clock_(clock) {}

  // `full`: without the floor, whenever the last such look was.
  Look begin(int queue, bool full = false);

  // The look found `lowest` as its first rank; the highest number if it found none.
  void end(int queue, const Look& look, std::int64_t lowest = std::numeric_limits<std::int64_t>::max());

  // A task of this rank has become ready; call it after the commit.
  void lower(int queue, std::int64_t rank);

  // The database is another one: see DatabaseIdentity.
  void forget();

 private:
  struct Change {
    std::uint64_t number;
    std::int64_t rank;
  };

  struct Hint {
    std::int64_t floor = kNone;
    std::uint64_t changes = 0;
    MonotonicTime next_full;  // when a look ignores the floor

    // The lowest rank since any recent change: ranks rise, because a change hides all earlier ones that are not lower.
    std::vector<Change> lowest_since;
    std::uint64_t forgotten = 0;  // what came up to this change is not known any more

    void note(std::int64_t rank);
    // The lowest rank that became ready after change `number`; nothing if that is not known any more.
    std::optional<std::int64_t> lowest_after(std::uint64_t number) const;
  };

  const Clock& clock_;
  std::mutex mutex_;
  std::unordered_map<int, Hint> hints_;  // guarded by mutex_
};

}  // namespace horae::postgres
