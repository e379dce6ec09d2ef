// The judge: were the promises of DESIGN section 2 kept in a history?
#pragma once

#include <string>
#include <vector>

#include "tests/sim/history.h"

namespace horae::sim {

// The rules, by the names that violations carry:
//   lost        an acknowledged task is there at the end, unless retention took it in its time
//   doubled     one intent of a client becomes one task, an attempt is given once, a slot works on one attempt
//   stale       what is accepted comes from the owner of the present attempt; what is repeated was accepted before;
//               what is given again is held by the one who gets it
//   token       a token of a worker's own gets one batch, however often and wherever the claim is repeated
//   refused     what the present owner says is accepted
//   taken       no attempt is released that its worker has begun
//   final       a task that has ended stays as it ended; cancelled stays cancelled
//   overlap     a task is leased only when it is ready, with the next attempt
//   early       no lease expires before its time, no task starts before it is due
//   outage      an outage alone makes no second attempt
//   tries       failures count against max_attempts, and nothing else does
//   paused      paused queues and a stopped scheduler give nothing
//   order       within a queue, claims follow rank, ready second, number
//   ageing      once a task has been ready for (255 - priority) / rate seconds, nothing that became ready later is
//               claimed before it
//   recurrence  a completed turn is followed by exactly one other, due its interval later
//   due         what is due becomes ready, all of it and in time
//   unfinished  when nothing new comes and nothing fails, every task ends or recurs
//   calm        while all parts live, no lease expires
//   idle        in a calm world nothing that is ready waits while a worker waits for it
//   trail       a task's own history tells what happened: timeouts, yields, retries, late results
//   counts      the counts of queues are the numbers of their tasks
//   differs     the store's task stands as the history says
//   retention   nothing is purged but what has ended, and after its time
struct Violation {
  std::string rule;
  Instant at;
  std::string text;
};

// All that is wrong with a history; it is pure. The first violation is usually the cause of the rest. Of a history that
// is not in order only those rules are judged that need none: lost, doubled, final, counts.
std::vector<Violation> check(const History& history);

}  // namespace horae::sim
