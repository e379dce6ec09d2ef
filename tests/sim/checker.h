// Checks a history against the guarantees of tasks (docs/concepts/tasks.md and its neighbours).
#pragma once

#include <string>
#include <vector>

#include "tests/sim/history.h"

namespace horae::sim {

// The rules, by the names that violations carry:
//   lost        an acknowledged task exists at the end, unless it was purged after its retention
//   doubled     one intent of a client becomes one task, an attempt is handed out once, a slot runs one attempt
//   stale       only the owner of the present attempt is accepted; a `repeated` settlement was accepted before; an
//               attempt is returned again only to its owner
//   token       a token of a worker gets one batch, even if the claim is repeated, at any node
//   refused     settlements of the present owner are accepted
//   taken       an attempt that its worker has begun is not released
//   final       terminal states are final
//   overlap     a task is leased only when it is ready, with the next attempt
//   early       no lease expires before its time, no task starts before it is due
//   outage      an outage alone makes no second attempt: of more than a third of a lease, it expires no such lease
//   tries       failures count against max_attempts, and nothing else does
//   paused      paused queues and a stopped scheduler hand out nothing
//   order       within a queue, claims follow rank, ready second, number
//   ageing      once a task has been ready for (255 - priority) / rate seconds, nothing that became ready later is
//               claimed before it
//   recurrence  a completed turn is followed by exactly one other, due its interval later
//   due         all due tasks become ready, in time
//   unfinished  without new tasks and faults, every task ends or recurs
//   calm        while all processes live, no lease expires, also after short outages of the store
//   idle        in a calm world no ready task waits while a worker waits for it
//   trail       a task's own history is complete: timeouts, yields, retries, late results
//   times       entries of a task's history are in the order of their times, and assignments are dated as they happened
//   counts      the counts of queues are the numbers of their tasks
//   differs     the task in the store has the state that follows from the history
//   retention   only ended tasks are purged, and only after their retention
struct Violation {
  std::string rule;
  Instant at;
  std::string text;
};

// All violations in a history; a pure function. The first violation usually causes the rest. An unordered history is
// checked only by the rules that need no order: lost, doubled, final, counts.
std::vector<Violation> check(const History& history);

}  // namespace horae::sim
