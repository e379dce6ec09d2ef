#include "tests/sim/network.h"

namespace horae::sim {
namespace {

constexpr Duration kUsualDelay = std::chrono::milliseconds(2);  // the mean

}  // namespace

void Network::later(Peer& peer, Duration delay, std::function<void()> what) {
  world_.events.after(delay, [this, &peer, incarnation = peer.incarnation, what = std::move(what)] {
    if (peer.incarnation != incarnation) return;
    if (peer.paused_until <= world_.now()) return what();
    later(peer, peer.paused_until - world_.now(), what);
  });
}

bool Network::is_lost(const Peer& peer) {
  if (is_cut_off(peer)) return true;
  if (!world_.in_chaos() || !world_.chance.happens(world_.plan.troubles.message_lost)) return false;
  world_.fault("a message is lost");
  return true;
}

bool Network::is_repeated() {
  if (!world_.in_chaos() || !world_.chance.happens(world_.plan.troubles.message_repeated)) return false;
  world_.fault("a message is repeated");
  return true;
}

Duration Network::delay() { return world_.chance.around(kUsualDelay); }

// A paused node receives the request later; a node that is down or over its limit refuses it.
void Network::deliver(Node& node, std::function<void(NodeLife&)> request, std::function<void()> refuse) {
  if (node.paused_until() > world_.now()) {
    world_.events.at(node.paused_until(), [this, &node, request = std::move(request), refuse = std::move(refuse)] {
      deliver(node, request, refuse);
    });
    return;
  }
  if (world_.in_chaos() && world_.chance.happens(world_.plan.troubles.door_is_full)) {
    world_.fault("a request is refused over a limit");
    return refuse();
  }
  if (!node.serve(request)) refuse();
}

}  // namespace horae::sim
