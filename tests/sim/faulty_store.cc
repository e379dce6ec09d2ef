#include "tests/sim/faulty_store.h"

namespace horae::sim {
namespace {

constexpr Duration kUsualTravel = std::chrono::milliseconds(1);  // one way, the mean
constexpr double kFlakyShare = 0.02;

}  // namespace

Way::Fate Way::draw() {
  const Troubles& troubles = world_.plan.troubles;
  const double fails = world_.in_chaos() ? troubles.call_fails : world_.is_flaky() ? kFlakyShare : 0.0;
  const double unknown = world_.in_chaos() ? troubles.call_unknown : world_.is_flaky() ? kFlakyShare : 0.0;
  const double crashes = world_.in_chaos() ? troubles.call_crashes : 0.0;
  const double drawn = world_.chance.unit();
  if (drawn < fails) {
    world_.fault("a call fails");
    return Fate::kFails;
  }
  if (drawn < fails + unknown) {
    world_.fault("a call succeeds without an answer");
    return Fate::kUnknown;
  }
  if (drawn < fails + unknown + crashes) {
    return world_.chance.happens(0.5) ? Fate::kCrashBefore : Fate::kCrashAfter;
  }
  return Fate::kGood;
}

// Time passes, more of it while the store is slow or the node stands still.
void Way::travel() {
  world_.events.pass(world_.chance.around(kUsualTravel) + world_.chance.around(world_.store_delay));
  while (traveller_.paused_until() > world_.now()) world_.events.run_until(traveller_.paused_until());
  if (traveller_.is_dead()) throw Crash{};
}

void Way::crash() {
  world_.fault("a node dies in a call");
  traveller_.die();
  throw Crash{};
}

}  // namespace horae::sim
