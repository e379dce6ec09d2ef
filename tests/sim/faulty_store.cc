#include "tests/sim/faulty_store.h"

namespace horae::sim {
namespace {

constexpr Duration kUsualTransfer = std::chrono::milliseconds(1);  // one way, the mean
constexpr double kFlakyShare = 0.02;

}  // namespace

StoreLink::Fate StoreLink::draw() {
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
    world_.fault("the response of a call is lost");
    return Fate::kUnknown;
  }
  if (drawn < fails + unknown + crashes) {
    return world_.chance.happens(0.5) ? Fate::kCrashBefore : Fate::kCrashAfter;
  }
  return Fate::kGood;
}

// Lets time pass; more while the store is slow or the node is paused.
void StoreLink::transfer() {
  world_.events.pass(world_.chance.around(kUsualTransfer) + world_.chance.around(world_.store_delay));
  while (caller_.paused_until() > world_.now()) world_.events.run_until(caller_.paused_until());
  if (caller_.is_dead()) throw Crash{};
}

void StoreLink::crash() {
  world_.fault("a node crashes in a call");
  caller_.die();
  throw Crash{};
}

}  // namespace horae::sim
