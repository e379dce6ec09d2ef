#include "tests/sim/delay/plan.h"

#include <fmt/format.h>

#include "base/duration.h"
#include "tests/sim/chance.h"

namespace horae::sim {
namespace {

// The random numbers of these plans must differ from those of the worlds of tasks.
constexpr std::uint64_t kOtherPlans = 0x5bd1e9955bd1e995U;

Duration sometimes(Chance& chance, Duration mean) {
  if (chance.happens(0.35)) return {};
  return chance.between(mean / 2, mean * 4);
}

double share(Chance& chance, double most) { return chance.happens(0.3) ? 0.0 : most * chance.unit(); }

RelayOptions make_relay(Chance& chance) {
  using std::chrono::milliseconds;
  RelayOptions relay{.queue = "delayed", .input = "delayed.in"};
  if (chance.happens(0.3)) relay.timing_advance = std::nullopt;
  if (chance.happens(0.2)) relay.timing_advance = milliseconds(chance.between(0, 200));
  relay.hold_time = milliseconds(chance.one_of<int>({3000, 5000, 5000, 8000}));
  relay.horizon = milliseconds(chance.one_of<int>({0, 100, 500, 500, 1000}));
  if (chance.happens(0.3)) relay.most_held = static_cast<std::size_t>(chance.between(5, 50));
  if (chance.happens(0.3)) relay.batch = static_cast<std::size_t>(chance.between(2, 20));
  if (chance.happens(0.3)) relay.most_pending = static_cast<std::size_t>(chance.between(20, 100));
  return relay;
}

}  // namespace

DelayPlan make_delay_plan(std::uint64_t seed, std::uint64_t messages) {
  Chance chance(seed ^ kOtherPlans);
  DelayPlan plan{.base = {.seed = seed}, .relay = make_relay(chance)};
  const Duration hold = plan.relay.hold_time;
  plan.partitions = chance.between(1, 4);
  plan.has_dead_letters = chance.happens(0.6);
  plan.send_every = std::chrono::milliseconds(chance.one_of<int>({20, 50, 100}));
  plan.longest_delay = std::chrono::milliseconds(chance.one_of<int>({500, 3000, 10'000}));
  plan.late = share(chance, 0.2);
  plan.repeated = share(chance, 0.2);
  plan.bad = share(chance, 0.05);
  plan.refused = share(chance, 0.03);
  plan.put = share(chance, 0.2);
  plan.rearmed = share(chance, 0.1);
  plan.cancelled = share(chance, 0.1);
  plan.moved = share(chance, 0.1);
  plan.broker_outage = sometimes(chance, hold * 4);
  plan.rebalance = sometimes(chance, hold * 2);
  plan.publish_fails = share(chance, 0.1);
  plan.acknowledgement_lost = share(chance, 0.1);
  plan.sink_full = share(chance, 0.1);

  Plan& base = plan.base;
  base.nodes = chance.between(1, 3);
  base.lease = hold;
  base.poll = plan.relay.poll_interval;
  // Clocks of today drift by less than 20 millionths.
  base.drift = 0.00002 * chance.unit();
  const Duration all = plan.send_every * static_cast<Duration::rep>(messages);
  base.chaos = all / 2;
  base.flaky = all / 5;
  base.calm = all / 4;
  base.troubles.node_crash = sometimes(chance, hold * 3);
  base.troubles.node_pause = sometimes(chance, hold * 3);
  base.troubles.node_cut_off = sometimes(chance, hold * 4);
  base.troubles.store_outage = sometimes(chance, hold * 5);
  base.troubles.store_slow = sometimes(chance, hold * 4);
  base.troubles.call_fails = share(chance, 0.05);
  base.troubles.call_unknown = share(chance, 0.05);
  base.troubles.call_crashes = share(chance, 0.005);
  return plan;
}

std::string describe(const DelayPlan& plan) {
  return fmt::format("delay world {}: {} nodes, {} partitions, hold {}, horizon {}, {}{}", plan.base.seed,
                     plan.base.nodes, plan.partitions, format_duration(plan.relay.hold_time),
                     format_duration(plan.relay.horizon), plan.relay.timing_advance ? "" : "learnt advance, ",
                     plan.has_dead_letters ? "dead letters" : "no dead letters");
}

}  // namespace horae::sim
