// What this node has readied and not removed: the messages that it answers for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/message_store.h"

namespace horae {

using HoldId = std::uint64_t;

// A readied message, under the number that this node gave it.
struct Held {
  HoldId id = 0;
  ReadiedMessage readied;
};

// What the next turn has to do in the store. Items of the lists and of their ids correspond.
struct TurnWork {
  std::vector<Readying> fired;
  std::vector<HoldId> fired_ids;
  std::vector<bool> was_asked;  // for each of `fired`: an earlier turn asked for it, and its answer was lost
  std::vector<GiveBack> failed;
  std::vector<HoldId> failed_ids;
};

// A message is held from the answer that readied it until a turn has removed it or given it back. Bodies are not kept
// here.
//
// The answer to a call that readies may be lost. Then nothing more is readied until MessageStore::held_by() has said what
// this node holds, and that is asked only when no other such call is under way: so what add() does not know was readied
// by the lost call, and nothing is held twice.
//
// Thread-safe.
class Holdings {
 public:
  Holdings(std::size_t most, std::size_t most_bytes) : most_(most), most_bytes_(most_bytes) {}

  // ---- Calls that ready ----

  // False: ready nothing now. Else end_readying() follows the answer, after add().
  bool begin_readying();
  void end_readying(bool is_lost);

  bool has_lost_answer() const;
  bool may_resolve() const;  // an answer was lost, and no call that readies is under way
  void end_resolving();      // all that held_by() lists was added

  // How much more may be held.
  ReadyLimits room() const;

  // ---- Messages ----

  // Returns those that were not held yet.
  std::vector<Held> add(std::vector<ReadiedMessage> readied);

  // What became of a held message; each is called once.
  void fired(HoldId id);
  void give_back(HoldId id, Duration delay, bool may_be_published = false);
  void refused(HoldId id);  // its output refuses it for good

  // Which message it is, and its deadline.
  std::pair<Readying, Instant> get(HoldId id) const;

  // ---- The turn ----

  // The oldest `most` of each kind; they stay until forget().
  TurnWork next_work(std::size_t most) const;

  // The turn with this work has an answer, or its answer was lost.
  void forget(const TurnWork& done);
  void note_asked(const TurnWork& asked);

  // Takes the refused ones; each ends by fired() or give_back().
  std::vector<HoldId> take_refused(std::size_t most);

  bool holds(const Readying& readying) const;
  std::size_t size() const;
  std::size_t unsettled() const;  // fired or failed, and not forgotten

 private:
  struct Entry {
    Readying readying;
    Instant deadline;
    std::size_t bytes = 0;
    Duration delay{};               // of the give-back
    bool may_be_published = false;  // likewise
    bool was_asked = false;
  };
  using Key = std::pair<std::string, Instant>;

  static Key key_of(const Readying& readying) { return {readying.id, readying.readied_at}; }
  void erase(HoldId id);  // with mutex_ held

  const std::size_t most_;
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::map<HoldId, Entry> entries_;
  std::map<Key, HoldId> ids_;
  std::deque<HoldId> fired_;
  std::deque<HoldId> failed_;
  std::deque<HoldId> refused_;
  std::size_t bytes_ = 0;
  HoldId last_id_ = 0;
  int readying_ = 0;  // calls under way
  bool is_lost_ = false;
};

}  // namespace horae
