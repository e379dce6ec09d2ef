#include "tests/sim/plan.h"

#include <fmt/format.h>

#include "base/duration.h"
#include "tests/sim/chance.h"

namespace horae::sim {
namespace {

// About every tenth world has no faults of a kind, and half of the worlds have many.
Duration often(Chance& chance, Duration mean) {
  if (chance.happens(0.35)) return {};
  return chance.between(mean / 2, mean * 4);
}

double seldom(Chance& chance, double most) { return chance.happens(0.35) ? 0.0 : most * chance.unit() * chance.unit(); }

Troubles make_troubles(Chance& chance, Duration lease) {
  Troubles troubles;
  troubles.node_crash = often(chance, lease * 10);
  troubles.node_pause = often(chance, lease * 12);
  troubles.node_cut_off = often(chance, lease * 10);
  troubles.node_clock_step = often(chance, lease * 20);
  troubles.store_outage = often(chance, lease * 20);
  troubles.store_slow = often(chance, lease * 15);
  troubles.worker_crash = often(chance, lease * 8);
  troubles.worker_pause = often(chance, lease * 6);
  troubles.worker_cut_off = often(chance, lease * 8);
  troubles.message_lost = seldom(chance, 0.1);
  troubles.message_repeated = seldom(chance, 0.1);
  troubles.call_fails = seldom(chance, 0.1);
  troubles.call_unknown = seldom(chance, 0.1);
  troubles.call_crashes = seldom(chance, 0.02);
  troubles.door_is_full = seldom(chance, 0.05);
  return troubles;
}

}  // namespace

Plan make_plan(std::uint64_t seed, std::uint64_t lives) {
  Chance chance(seed);
  Plan plan{.seed = seed};
  const int scale = chance.one_of<int>({1, 1, 10, 60, 200});
  plan.nodes = chance.between(1, 4);
  plan.workers = chance.between(2, 6);
  plan.slots = chance.between(1, 3);
  plan.node_slots = chance.between(0, 3);
  plan.queues = chance.between(1, 3);
  plan.recurring = chance.between(1, 1 + plan.workers * plan.slots / 3);  // they never end, so they must leave capacity
  plan.drift = 0.0005 * chance.unit();
  plan.lease = std::chrono::seconds(10) * scale;
  plan.poll = std::chrono::seconds(1) * scale;
  plan.work = Chance::part(plan.lease, 0.1 + 0.4 * chance.unit());
  const double share = 0.3 + 0.5 * chance.unit();  // of the capacity of the workers
  plan.submit_every = Chance::part(plan.work / (plan.workers * plan.slots), 1.0 / share);
  plan.retention = plan.lease * chance.between(20, 100);
  const Duration all = plan.submit_every * static_cast<Duration::rep>(lives);
  plan.chaos = all / 2;
  plan.flaky = all / 5;
  plan.calm = all / 5;
  plan.troubles = make_troubles(chance, plan.lease);
  for (int i = 0; i < plan.workers; ++i) plan.leases.push_back(plan.lease / chance.one_of<int>({1, 1, 2, 3, 5, 10}));
  plan.ahead_time = chance.one_of<Duration>({plan.poll / 5, plan.lease * 100, plan.lease * 100});
  plan.give_back = chance.one_of<Duration>({plan.poll, plan.lease * 100});
  return plan;
}

std::string describe(const Plan& plan) {
  return fmt::format("seed {}: {} nodes, {} workers of {} slots, {} queues, lease {}, a task every {}", plan.seed,
                     plan.nodes, plan.workers, plan.slots, plan.queues, format_duration(plan.lease),
                     format_duration(std::chrono::round<std::chrono::milliseconds>(plan.submit_every)));
}

}  // namespace horae::sim
