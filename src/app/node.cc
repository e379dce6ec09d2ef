#include "app/node.h"

#include <utility>

#include "app/access.h"
#include "app/exchange_of_hints.h"
#include "base/random.h"
#include "base/uuid.h"
#include "engine/engine.h"
#include "api/api.h"
#include "observe/event_ring.h"
#include "observe/hinting_tasks.h"
#include "observe/measured_stores.h"
#include "observe/measured_tasks.h"
#include "http/server.h"
#include "store/combiner.h"

namespace horae {
namespace {

// The same store, with its calls counted and timed, and with hints at what they did.
class MeasuredStore final : public Store {
 public:
  MeasuredStore(Store& store, Metrics& metrics, const Clock& clock, HintingTasks::Tell tell)
      : store_(store),
        measured_(store.tasks(), metrics, clock),
        tasks_(measured_, std::move(tell)),
        queues_(store.queues(), metrics, clock),
        tokens_(store.tokens(), metrics, clock),
        cluster_(store.cluster(), metrics, clock) {}

  TaskStore& tasks() override { return tasks_; }
  QueueStore& queues() override { return queues_; }
  MessageStore& messages() override { return store_.messages(); }
  TokenStore& tokens() override { return tokens_; }
  ClusterStore& cluster() override { return cluster_; }
  std::string description() const override { return store_.description(); }

 private:
  Store& store_;
  MeasuredTasks measured_;
  HintingTasks tasks_;
  MeasuredQueues queues_;
  MeasuredTokens tokens_;
  MeasuredCluster cluster_;
};

}  // namespace

class Node::Parts {
 public:
  Parts(Store& store, const Clock& clock, const Config& config, const std::string& owner, const Logger& log)
      : grace_(config.grace),
        ids_(clock, random_),
        store_(store, metrics_, clock, [this](std::span<const Hint> hints) { hints_.tell(hints); }),
        access_(store_.tokens(), clock, config.rate_limit, log),
        combiner_(store_.tasks(), config.combiner),
        engine_(store_, clock, random_, owner, log, config.engine),
        hints_(events_, hint_ways()),
        api_(api_parts(clock, owner, log), with_gate(config)),
        http_(config.http),
        requires_token_(config.api.gate.require_token),
        server_(config.http, clock, log, [this](HttpRequest request, const Responder& responder) {
          api_.handle(std::move(request), responder);
        }) {
    engine_.set_listeners(
        {.ticked = [this](const Tick& tick) { on_tick(tick); },
         .hinted = [this](const std::vector<std::string>& hints, bool lost) { hints_.hear(hints, lost); }});
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

  Engine& engine() { return engine_; }
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
            .on_ready = [this](const std::vector<std::string>& queues) { engine_.on_ready(queues); },
            .on_ready_somewhere = [this] { engine_.on_ready_anywhere(); },
            .on_scheduled = [this] { engine_.on_scheduled(); },
            .on_cancelled = [this] { engine_.on_cancelled(); },
            .on_control = [this] { engine_.on_control(); },
            .on_access = [this] { access_.refresh(); },
            .scheduler_status = [this] { return engine_.status(); },
            .gate = access_.gate()};
  }

  HintWays hint_ways() {
    return {.tell_others = [this](std::string hint) { engine_.hint(std::move(hint)); },
            .tell_of_losses = [this] { engine_.hints_lost(); },
            .set_wants_hints = [this](bool wants) { engine_.set_wants_hints(wants); },
            .is_deaf = [this] { return engine_.is_deaf(); }};
  }

  // What comes through a proxy comes from this machine, whoever sent it.
  static ApiOptions with_gate(const Config& config) {
    ApiOptions options = config.api;
    options.gate.require_token = options.gate.require_token || config.http.plaintext_behind_proxy;
    return options;
  }

  void on_tick(const Tick& tick) {
    access_.on_tick(tick);
    hints_.on_tick(tick);
  }

  const Duration grace_;
  SystemRandom random_;
  UuidSource ids_;
  Metrics metrics_;
  EventRing events_;
  MeasuredStore store_;
  NodeAccess access_;
  Combiner combiner_;
  Engine engine_;
  ExchangeOfHints hints_;
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

void Node::on_ready(const std::vector<std::string>& queues) { parts_->engine().on_ready(queues); }

Result<void> Node::reload_certificates() { return parts_->server().reload_certificates(); }

std::vector<std::string> Node::urls() const { return parts_->server().urls(); }

}  // namespace horae
