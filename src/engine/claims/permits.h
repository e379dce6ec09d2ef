// For how many waiting claims of a node there is work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/lease.h"

namespace horae {

// How many queues a node keeps in mind. Beyond it all are forgotten, which costs one claim for each.
inline constexpr std::size_t kMaxPermitQueues = 10'000;

// For each queue: its permits, which are the ready tasks that were announced and that no claim was sent for; and
// whether it has a hint, because more tasks may be ready than were counted. A queue of which nothing is known has a
// hint.
//
// A claim takes permits when it is sent, as many as it may lease tasks, and the hints of its queues. When it is
// answered, the permits that did not become tasks of their queue come back, and so do the hints; unless the answer
// proves that the queues were empty. What was announced while the claim was under way is not touched by that.
//
// So, as long as every ready task is announced or hinted at, none is left without a permit or a hint while a claim
// for it waits. A lost announcement is made up for by a hint of a poll.
//
// Not thread-safe.
class Permits {
 public:
  // What one claim took.
  struct Grant {
    struct OfQueue {
      std::string queue;
      std::size_t permits = 0;
      bool has_hint = false;
      std::uint64_t announced = 0;  // tasks of the queue, ever, when the claim was sent
    };
    std::vector<OfQueue> queues;  // all queues of the wish
  };

  // So many tasks became ready. 0: an unknown number, maybe none.
  void announce(std::string_view queue, std::size_t count);
  void announce_anywhere();

  // Whether a claim of this queue is worth sending.
  bool has_work(std::string_view queue) const;
  bool has_work(const ClaimWish& wish) const;

  // For a claim that is sent now, whether it has work or not.
  Grant take(const ClaimWish& wish);

  // The claim was answered.
  void note_outcome(const Grant& grant, const ClaimWish& wish, const ClaimOutcome& outcome);

  // The claim failed, or its outcome is unknown.
  void note_failure(const Grant& grant);

 private:
  struct Queue {
    std::size_t permits = 0;
    bool has_hint = false;
    std::uint64_t announced = 0;
  };

  Queue* find(std::string_view queue);

  std::map<std::string, Queue, std::less<>> queues_;
};

}  // namespace horae
