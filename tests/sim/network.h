// The network between peers and nodes: it delays, loses and repeats requests and responses.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tests/sim/node.h"

namespace horae::sim {

// A process that calls nodes: a worker or a client.
struct Peer {
  std::uint64_t incarnation = 0;  // messages to an earlier one are dropped
  Instant paused_until;           // until then it does nothing, like a stopped process
  Instant cut_off_until;
};

class Network {
 public:
  explicit Network(World& world) : world_(world) {}

  void add(std::unique_ptr<Node> node) { nodes_.push_back(std::move(node)); }
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  Node& any_node() { return *nodes_[world_.chance.random().below(nodes_.size())]; }

  // Schedules an action of the peer. If the peer is dead by then, it does nothing; if it is paused, it acts afterwards.
  void later(Peer& peer, Duration delay, std::function<void()> what);

  // Sends the response of a node. False if the node notices that the connection is closed.
  template <typename Answer>
  using Reply = std::function<bool(Result<Answer>)>;

  struct CallOptions {
    Duration timeout{};  // then the call counts as lost
    bool may_repeat = false;
  };

  // Sends a request to `node`, where `serve` handles it: once or, if the network repeats the request, twice. `done` gets
  // one response; kUnavailable if none arrived in time, and then the outcome is unknown.
  template <typename Answer>
  void call(Peer& peer, Node& node, CallOptions options, std::function<void(NodeLife&, const Reply<Answer>&)> serve,
            std::function<void(Result<Answer>)> done) {
    const auto pending = std::make_shared<Call<Answer>>(Call<Answer>{peer.incarnation, false, std::move(done)});
    const Error nothing{ErrorCode::kUnavailable, "no response"};
    world_.events.after(options.timeout, [this, &peer, pending, nothing] { end<Answer>(peer, pending, nothing); });
    const Reply<Answer> reply = [this, &peer, pending](Result<Answer> answer) {
      if (pending->is_over || peer.incarnation != pending->incarnation) return is_cut_off(peer);
      if (is_lost(peer)) return true;
      world_.events.after(delay(), [this, &peer, pending, answer] { end<Answer>(peer, pending, answer); });
      return true;
    };
    const auto arrive = [this, &node, reply, nothing, serve = std::move(serve)] {
      deliver(
          node, [reply, serve](NodeLife& life) { serve(life, reply); }, [reply, nothing] { (void)reply(nothing); });
    };
    if (is_lost(peer)) return;
    world_.events.after(delay(), arrive);
    if (options.may_repeat && is_repeated()) world_.events.after(delay() * 5, arrive);
  }

 private:
  template <typename Answer>
  struct Call {
    std::uint64_t incarnation;
    bool is_over;
    std::function<void(Result<Answer>)> done;
  };

  template <typename Answer>
  void end(Peer& peer, const std::shared_ptr<Call<Answer>>& pending, const Result<Answer>& answer) {
    if (pending->is_over || peer.incarnation != pending->incarnation) return;
    if (peer.paused_until > world_.now()) {
      world_.events.at(peer.paused_until, [this, &peer, pending, answer] { end<Answer>(peer, pending, answer); });
      return;
    }
    pending->is_over = true;
    pending->done(answer);
  }

  bool is_cut_off(const Peer& peer) const { return peer.cut_off_until > world_.now(); }
  bool is_lost(const Peer& peer);
  bool is_repeated();
  Duration delay();
  void deliver(Node& node, std::function<void(NodeLife&)> request, std::function<void()> refuse);

  World& world_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace horae::sim
