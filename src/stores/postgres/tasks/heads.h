// The ready ranges at the heads of queues, and how a claim shares them out among its wishes. Pure: no database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "model/rank.h"
#include "stores/postgres/layout/places.h"

namespace horae::postgres {

// The ranges that are locked at the head of one queue, in the order of claims, and how far they have been given away.
struct Head {
  Ageing ageing;
  std::vector<ReadyRange> ranges;
  bool is_all = false;      // nothing more can be locked in this queue
  std::int64_t wanted = 0;  // tasks, by all wishes together

  std::size_t first = 0;        // the first range that has tasks left
  std::int64_t next = 0;        // its first task left
  std::int64_t given = 0;       // tasks
  std::vector<bool> touched{};  // which of `ranges` gave tasks

  // After `ranges` were set: nothing of them has been given away.
  void begin();

  bool empty() const { return first == ranges.size(); }
  const ReadyRange& range() const { return ranges[first]; }

  // The wishes would have taken more than was locked, and there may be more.
  bool is_short() const { return empty() && !is_all && given < wanted; }
};

using Heads = std::map<int, Head>;  // by queue

struct GivenTask {
  std::int64_t number = 0;
  const ReadyRange* from = nullptr;  // in the ranges of its head
};

// Gives away up to `most` tasks of these queues, the most urgent ones first: by effective priority, then by the second
// in which they became ready, then by number. `second` is the present one.
std::vector<GivenTask> give(Heads& heads, const std::vector<int>& queues, std::size_t most, std::int64_t second);

// The ranges that gave tasks, by their first numbers, and what is left of them.
struct Left {
  std::vector<std::int64_t> gone;
  std::vector<ReadyRange> rest;
};

Left what_is_left(const Heads& heads);

}  // namespace horae::postgres
