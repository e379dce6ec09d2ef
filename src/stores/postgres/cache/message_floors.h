// Where the messages of the delay queues begin, as hints.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "stores/postgres/cache/floors.h"

namespace horae::postgres {

// See Floors. The dead entries of messages would have to be walked over as those of
// ready tasks, and so would the messages that are ready, which come before those that wait. Thread-safe.
class MessageFloors {
 public:
  explicit MessageFloors(const Clock& clock) : floors_(clock) {}

  // One look at a queue: at its first waiting message, and at its first one of any state.
  struct Look {
    int queue = 0;
    Floors::Look waiting;
    Floors::Look present;
  };
  Look begin(const std::string& delay_queue);
  void end(const Look& look, std::optional<Instant> first_waiting, std::optional<Instant> first_present);

  // A message of this due time is there, and waits. Call it after the commit.
  void lower(const std::string& delay_queue, Instant due, bool waits);

  // The database is another one.
  void forget() { floors_.forget(); }

 private:
  int number_of(const std::string& delay_queue);

  Floors floors_;
  std::mutex mutex_;
  std::map<std::string, int> numbers_;  // guarded by mutex_; even ones, the odd one after it is that of `present`
};

// Where a look begins; nothing for the beginning.
std::optional<Instant> floor_of(const Floors::Look& look);

}  // namespace horae::postgres
