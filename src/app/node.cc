#include "app/node.h"

#include <utility>

#include "api/api.h"
#include "app/access.h"
#include "base/random.h"
#include "base/uuid.h"
#include "engine/engine.h"
#include "http/server.h"
#include "observe/change_counts.h"
#include "observe/event_ring.h"
#include "observe/metrics.h"
#include "observe/observed_store.h"
#include "observe/peer_events.h"
#include "store/change.h"
#include "store/combiner.h"

namespace horae {
class Node::Parts {
 public:
  Parts(Store& store, const Clock& clock, const Config& config, const std::string& owner, const Logger& log)
      : grace_(config.grace),
        ids_(clock, random_),
        counts_(metrics_),
        store_(store, metrics_, clock, observers_),
        access_(store_.tokens(), clock, config.rate_limit, log),
        combiner_(store_.tasks(), config.combiner),
        engine_(store_, clock, random_, owner, log, config.engine, metrics_),
        peer_events_(events_, peer_link()),
        api_(api_parts(clock, owner, log), with_gate(config)),
        http_(config.http),
        requires_token_(config.api.gate.require_token),
        server_(config.http, clock, log, [this](HttpRequest request, const Responder& responder) {
          api_.handle(std::move(request), responder);
        }) {
    observers_.add(counts_);
    observers_.add(peer_events_);  // before the engine: a task is shown ready before it is claimed
    observers_.add(engine_);
    observers_.add(access_);
    engine_.set_listeners({.ticked = [this](const Tick& tick) { on_tick(tick); },
                           .received = [this](const std::vector<std::string>& events,
                                              bool lost) { peer_events_.receive(events, lost); }});
  }

  Result<void> start() {
    if (auto allowed = access_.start(http_, requires_token_); !allowed.ok()) return allowed;
    combiner_.start();
    engine_.start();
    api_.start();
    auto started = server_.start();
    if (!started.ok()) {
      stop();
    } else {
      engine_.set_address(server_.addresses().front());
    }
    return started;
  }

  bool stop() {
    api_.end_waits();
    server_.stop(grace_);
    api_.stop();
    const bool is_clean = engine_.stop(grace_);
    combiner_.stop();
    return is_clean;
  }

  Store& store() { return store_; }
  HttpServer& server() { return server_; }

 private:
  ApiParts api_parts(const Clock& clock, const std::string& owner, const Logger& log) {
    return {.combiner = combiner_,
            .tasks = store_.tasks(),
            .queues = store_.queues(),
            .access = store_.tokens(),
            .cluster = store_.cluster(),
            .events = events_,
            .claimer = engine_.claimer(),
            .clock = clock,
            .random = random_,
            .ids = ids_,
            .metrics = metrics_,
            .node = owner,
            .log = log,
            .scheduler_status = [this] { return engine_.status(); },
            .readiness = [this] { return store_.check_writes(); },
            .gate = access_.gate()};
  }

  PeerLink peer_link() {
    return {.send = [this](std::string event) { engine_.send_event(std::move(event)); },
            .send_loss = [this] { engine_.send_event_loss(); },
            .set_wants_events = [this](bool wants) { engine_.set_wants_events(wants); },
            .is_deaf = [this] { return engine_.is_deaf(); }};
  }

  // Behind a proxy, the peer of every request is this machine, so the address of the peer grants nothing.
  static ApiOptions with_gate(const Config& config) {
    ApiOptions options = config.api;
    options.gate.require_token = options.gate.require_token || config.http.plaintext_behind_proxy;
    return options;
  }

  void on_tick(const Tick& tick) {
    access_.on_tick(tick);
    peer_events_.on_tick(tick);
  }

  const Duration grace_;
  SystemRandom random_;
  UuidSource ids_;
  Metrics metrics_;
  EventRing events_;
  ChangeCounts counts_;
  ChangeObservers observers_;
  ObservedStore store_;
  NodeAccess access_;
  Combiner combiner_;
  Engine engine_;
  PeerEvents peer_events_;
  Api api_;
  const HttpServerOptions http_;
  const bool requires_token_;
  HttpServer server_;
};

Node::Node(Store& store, const Clock& clock, const Config& config, const std::string& owner, const Logger& log)
    : parts_(std::make_unique<Parts>(store, clock, config, owner, log)) {}

Node::~Node() { parts_->stop(); }

Result<void> Node::start() { return parts_->start(); }

bool Node::stop() { return parts_->stop(); }

Store& Node::store() { return parts_->store(); }

Result<void> Node::reload_certificates() { return parts_->server().reload_certificates(); }

std::vector<std::string> Node::urls() const { return parts_->server().urls(); }

}  // namespace horae
