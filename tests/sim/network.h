// Requests to nodes and their answers, over a network that delays, loses and repeats them.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tests/sim/node.h"

namespace horae::sim {

// A process at the other end: a worker or a client.
struct Peer {
  std::uint64_t incarnation = 0;  // what was said to an earlier one reaches nobody
  Instant paused_until;           // it lives, but does not know that time passes
  Instant cut_off_until;
};

class Network {
 public:
  explicit Network(World& world) : world_(world) {}

  void add(std::unique_ptr<Node> node) { nodes_.push_back(std::move(node)); }
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  Node& any_node() { return *nodes_[world_.chance.random().below(nodes_.size())]; }

  // Something that the peer will do later. Dead it does nothing; standing still it does it afterwards.
  void later(Peer& peer, Duration delay, std::function<void()> what);

  // How a node answers. False if it knows that nobody listens any more.
  template <typename Answer>
  using Reply = std::function<bool(Result<Answer>)>;

  struct Manner {
    Duration patience{};  // then the peer takes it for lost
    bool may_repeat = false;
  };

  // Sends a request to `node`; `serve` answers it there, once or, if the request is repeated on its way, twice. `done`
  // is told one answer; kUnavailable if none came in time, and then the outcome is unknown.
  template <typename Answer>
  void ask(Peer& peer, Node& node, Manner manner, std::function<void(NodeLife&, const Reply<Answer>&)> serve,
           std::function<void(Result<Answer>)> done) {
    const auto call = std::make_shared<Call<Answer>>(Call<Answer>{peer.incarnation, false, std::move(done)});
    const Error nothing{ErrorCode::kUnavailable, "no answer"};
    world_.events.after(manner.patience, [this, &peer, call, nothing] { end<Answer>(peer, call, nothing); });
    const Reply<Answer> reply = [this, &peer, call](Result<Answer> answer) {
      if (call->is_over || peer.incarnation != call->incarnation) return is_cut_off(peer);
      if (is_lost(peer)) return true;
      world_.events.after(delay(), [this, &peer, call, answer] { end<Answer>(peer, call, answer); });
      return true;
    };
    const auto arrive = [this, &node, reply, nothing, serve = std::move(serve)] {
      deliver(
          node, [reply, serve](NodeLife& life) { serve(life, reply); }, [reply, nothing] { (void)reply(nothing); });
    };
    if (is_lost(peer)) return;
    world_.events.after(delay(), arrive);
    if (manner.may_repeat && is_repeated()) world_.events.after(delay() * 5, arrive);
  }

 private:
  template <typename Answer>
  struct Call {
    std::uint64_t incarnation;
    bool is_over;
    std::function<void(Result<Answer>)> done;
  };

  template <typename Answer>
  void end(Peer& peer, const std::shared_ptr<Call<Answer>>& call, const Result<Answer>& answer) {
    if (call->is_over || peer.incarnation != call->incarnation) return;
    if (peer.paused_until > world_.now()) {
      world_.events.at(peer.paused_until, [this, &peer, call, answer] { end<Answer>(peer, call, answer); });
      return;
    }
    call->is_over = true;
    call->done(answer);
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
