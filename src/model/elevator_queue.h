// SHIELD's priority queue with its elevator: levels, first in first out inside a level, and a regular push upwards that
// keeps a flood of urgent work from starving the rest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutant.h"

namespace horae {

// Names a chore inside one node.
using ChoreId = std::uint64_t;

// Where a chore waits. Level 0 is served first.
struct ChorePosition {
  int level = 0;
  std::size_t place = 0;  // in its level, from 0
  std::size_t ahead = 0;  // how many chores are served before it if nothing changes

  friend bool operator==(const ChorePosition&, const ChorePosition&) = default;
};

// `Chore` has a member `id` of type ChoreId, unique within the queue. The queue is meant to be short (a node holds no
// more chores than can start soon), so a search is linear.
//
// Not thread-safe: one thread at a time.
template <typename Chore>
class ElevatorQueue {
 public:
  struct Entry {
    ChorePosition position;
    Chore chore;
  };

  static constexpr int kLevels = 256;

  // Behind all that wait in the same level. `level` is 0 to kLevels - 1.
  void push(int level, Chore chore) {
    HORAE_CHECK(level >= 0 && level < kLevels, "no such level");
    levels_[level].push_back(std::move(chore));
    ++size_;
  }

  // The first chore of the first level that is not empty; nothing if none waits.
  std::optional<Chore> pop() {
    if (levels_.empty()) return std::nullopt;
    const auto first = levels_.begin();
    Chore chore = std::move(first->second.front());
    first->second.pop_front();
    drop_if_empty(first);
    return chore;
  }

  // What pop() would take; nothing if none waits.
  const Chore* front() const { return levels_.empty() ? nullptr : &levels_.begin()->second.front(); }

  // Moves the chores of each level, in their order, to the next occupied level before theirs; those of the first
  // occupied level to level 0. Those already in level 0 go behind the ones that arrive there.
  void elevate() {
    std::map<int, std::deque<Chore>> elevated;
    int target = 0;
    auto level = levels_.begin();
    std::deque<Chore> saved;
    if (level != levels_.end() && level->first == 0) saved = std::move((level++)->second);
    for (; level != levels_.end(); ++level) {
      elevated[target] = std::move(level->second);
      target = level->first;
    }
    auto& top = elevated[0];
    if (HORAE_MUTANT("elevator_drops_a_chore")) saved.clear();
    std::move(saved.begin(), saved.end(), std::back_inserter(top));
    if (top.empty()) elevated.clear();
    levels_ = std::move(elevated);
  }

  // Where a chore waits; nothing if it does not.
  std::optional<ChorePosition> position(ChoreId id) const {
    std::size_t before = 0;
    for (const auto& [level, chores] : levels_) {
      const auto found = find(chores, id);
      if (found != chores.end()) {
        const auto place = static_cast<std::size_t>(std::distance(chores.begin(), found));
        return ChorePosition{level, place, before + place};
      }
      before += chores.size();
    }
    return std::nullopt;
  }

  // Takes a chore out, wherever it waits; nothing if it does not.
  std::optional<Chore> remove(ChoreId id) {
    for (auto level = levels_.begin(); level != levels_.end(); ++level) {
      const auto found = find(level->second, id);
      if (found == level->second.end()) continue;
      Chore chore = std::move(*found);
      level->second.erase(found);
      drop_if_empty(level);
      return chore;
    }
    return std::nullopt;
  }

  // All that wait, in the order in which they would be served.
  std::vector<Entry> backlog() const {
    std::vector<Entry> entries;
    entries.reserve(size_);
    for (const auto& [level, chores] : levels_) {
      std::size_t place = 0;
      for (const Chore& chore : chores) entries.push_back({{level, place++, entries.size()}, chore});
    }
    return entries;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  using Levels = std::map<int, std::deque<Chore>>;  // occupied levels only

  template <typename Chores>
  static auto find(Chores& chores, ChoreId id) {
    return std::find_if(chores.begin(), chores.end(), [id](const Chore& chore) { return chore.id == id; });
  }

  // One chore has left `level`.
  void drop_if_empty(typename Levels::iterator level) {
    if (level->second.empty()) levels_.erase(level);
    --size_;
  }

  Levels levels_;
  std::size_t size_ = 0;
};

}  // namespace horae
