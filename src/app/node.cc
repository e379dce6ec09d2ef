#include "app/node.h"

#include <utility>

#include "api/api.h"
#include "app/access.h"
#include "app/node_delays.h"
#include "base/random.h"
#include "base/uuid.h"
#include "base/waker.h"
#include "engine/engine.h"
#include "engine/runner.h"
#include "http/server.h"
#include "observe/change_log.h"
#include "observe/observation.h"
#include "store/combiner.h"

namespace horae {
class Node::Parts {
 public:
  Parts(Store& store, const Clock& clock, const Config& config, const std::string& owner, const Logger& log)
      : clock_(clock),
        grace_(config.grace),
        ids_(clock, random_),
        change_log_(log),
        observed_(store, clock, peer_link()),
        access_(observed_.store().tokens(), clock, config.rate_limit, log, config.max_queues_of_token),
        combiner_(observed_.store().tasks(), config.combiner),
        engine_(observed_.store(), combiner_, clock, random_, owner, log, config.engine, observed_.metrics()),
        delays_(observed_.store().messages(), clock, random_, config.delay, owner, log, observed_.metrics()),
        api_(api_parts(clock, owner, log), with_gate(config)),
        readiness_(clock, log),
        http_(config.http),
        requires_token_(config.api.gate.require_token),
        server_(
            with_trust(config), clock, log,
            [this](HttpRequest request, const Responder& responder) { api_.handle(std::move(request), responder); },
            observed_.metrics()) {
    observed_.add(change_log_);
    observed_.add(engine_);
    observed_.add(access_);
    access_.set_listener([this] { api_.end_revoked(); });
    server_.set_admit([this](const HttpRequest& head) { return api_.admit(head); });
    readiness_.add(api_.readiness(), readiness_waker_);
    engine_.set_listeners({.ticked = [this](const Tick& tick) { on_tick(tick); },
                           .received = [this](const std::vector<std::string>& events,
                                              bool lost) { observed_.peer_events().receive(events, lost); }});
  }

  Result<void> start() {
    if (auto allowed = access_.start(http_, requires_token_); !allowed.ok()) return allowed;
    combiner_.start();
    engine_.start();
    delays_.start();
    api_.start();
    (void)api_.readiness().run_once(clock_.now());
    readiness_.start();
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
    readiness_.stop();
    api_.stop();
    const bool is_fired = delays_.stop(grace_);
    const bool is_clean = engine_.stop(grace_);
    combiner_.stop();
    return is_clean && is_fired;
  }

  Store& store() { return observed_.store(); }
  HttpServer& server() { return server_; }

 private:
  ApiParts api_parts(const Clock& clock, const std::string& owner, const Logger& log) {
    return {.combiner = combiner_,
            .tasks = store().tasks(),
            .queues = store().queues(),
            .schedules = store().schedules(),
            .access = store().tokens(),
            .cluster = store().cluster(),
            .events = observed_.events(),
            .claimer = engine_.claimer(),
            .clock = clock,
            .random = random_,
            .ids = ids_,
            .metrics = observed_.metrics(),
            .node = owner,
            .log = log,
            .scheduler_status = [this] { return engine_.status(); },
            .readiness = [this] { return observed_.store().check_writes(); },
            .gate = access_.gate(),
            .messages = &store().messages(),
            .delay_queues = &delays_.relays()};
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
    options.gate.peers_are_callers = !config.http.plaintext_behind_proxy;
    return options;
  }

  // Who needs a token is a stranger before it has given one.
  static HttpServerOptions with_trust(const Config& config) {
    HttpServerOptions options = config.http;
    options.trusts_local = !with_gate(config).gate.require_token;
    options.limits.peers.is_on = !config.http.plaintext_behind_proxy;
    return options;
  }

  void on_tick(const Tick& tick) {
    api_.readiness().note_answer();
    access_.on_tick(tick);
    observed_.peer_events().on_tick(tick);
  }

  const Clock& clock_;
  const Duration grace_;
  SystemRandom random_;
  UuidSource ids_;
  ChangeLog change_log_;
  Observation observed_;
  NodeAccess access_;
  Combiner combiner_;
  Engine engine_;
  NodeDelays delays_;
  Api api_;
  Waker readiness_waker_;
  Runner readiness_;
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
