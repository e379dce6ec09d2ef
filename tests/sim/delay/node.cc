#include "tests/sim/delay/node.h"

#include <fmt/format.h>

#include <utility>

namespace horae::sim {
namespace {

constexpr Duration kWakeUpOfRelay = std::chrono::microseconds(200);  // the mean until a loop that was woken runs
constexpr Duration kRestartOfRelay = std::chrono::milliseconds(100);
constexpr Duration kGrace = std::chrono::seconds(5);

}  // namespace

// The node's clock as the relay reads it.
class ReadClock final : public Clock {
 public:
  ReadClock(const World& world, const NodeClock& clock) : world_(world), clock_(clock) {}

  Instant wall_now() const override { return world_.now(); }
  MonotonicTime now() const override { return clock_.now(); }

 private:
  const World& world_;
  const NodeClock& clock_;
};

class RelayLife final : public StoreLink::Caller, public Process, public std::enable_shared_from_this<RelayLife> {
 public:
  explicit RelayLife(RelayNode& node)
      : node_(node),
        world_(node.world_),
        link_(world_, *this),
        clock_(world_, node.clock_),
        messages_(world_, node.ledger_, link_) {}

  void begin() {
    const Uuid id = world_.ids.next();
    const RelayWakes wakes{.intake = [this] { wake(kIntake); },
                           .firing = [this] { wake(kFiring); },
                           .turn = [this] { wake(kTurn); },
                           .recovery = [this] { wake(kRecovery); }};
    const auto self = std::static_pointer_cast<Process>(shared_from_this());
    const auto weak = std::shared_ptr<Process>(self.get(), [](Process*) {});  // the life owns the ends
    auto source = std::make_unique<BrokerSource>(world_, node_.broker_, node_.ledger_, weak, wakes.intake);
    auto output =
        std::make_unique<BrokerSink>(world_, node_.broker_, node_.ledger_, node_.plan_, weak, id, false, wakes.firing);
    output->refuses = [this](MessageNumber number) { return node_.refuses(number); };
    std::unique_ptr<BrokerSink> letters;
    if (node_.plan_.has_dead_letters) {
      letters =
          std::make_unique<BrokerSink>(world_, node_.broker_, node_.ledger_, node_.plan_, weak, id, true, wakes.firing);
    }
    source_ = source.get();
    relay_ = std::make_unique<Relay>(RelayWorld{.store = messages_,
                                                .clock = clock_,
                                                .random = world_.chance.random(),
                                                .log = world_.log(),
                                                .meter = no_meter(),
                                                .node = id},
                                     node_.plan_.relay,
                                     RelayEnds{std::move(source), std::move(output), std::move(letters)}, wakes);
    source_->is_behind = [this] { return relay_->status().is_behind; };
    messages_.on_enqueue = [this](const RecordPlace& place) {
      if (!source_->has(place.partition))
        node_.ledger_.violate("revoked", -1, "a record of a lost partition is stored");
    };
    look_.add(*relay_);
    const Relay::Loops loops = relay_->loops();
    loops_[kIntake].loop = loops.intake;
    loops_[kTurn].loop = loops.turn;
    loops_[kFiring].loop = loops.firing;
    loops_[kRecovery].loop = loops.recovery;
    loops_[kLook].loop = &look_;
    is_built_ = true;
    for (std::size_t part = 0; part < kParts; ++part) wake(static_cast<Part>(part));
  }

  bool put(const NewMessage& message) {
    const auto outcome = messages_.enqueue({.delay_queue = node_.plan_.relay.queue,
                                            .node = {},
                                            .advance = relay_->status().advance,
                                            .horizon = node_.plan_.relay.horizon,
                                            .ready = {},
                                            .stores_late = true,
                                            .messages = std::span(&message, 1)});
    if (!outcome.ok()) return false;
    relay_->on_put();
    return true;
  }

  void drain() { relay_->drain(); }
  bool is_drained() const { return relay_->is_drained(); }
  void close() { source_->close(); }
  void vanish() { source_->vanish(); }

  bool is_dead() const override { return is_dead_; }
  bool is_cut_off() const override { return node_.cut_off_until_ > world_.now(); }
  Instant paused_until() const override { return node_.paused_until_; }
  void die() override {
    if (!is_dead_) node_.end_life(world_.chance.around(node_.plan_.relay.hold_time / 2));
  }

  bool is_dead_ = false;
  bool is_draining_ = false;

 private:
  enum Part : std::size_t { kIntake, kTurn, kFiring, kRecovery, kLook, kParts };
  struct Driven {
    Loop* loop = nullptr;
    bool is_running = false;
    bool is_woken = false;
    std::uint64_t plan = 0;  // only the newest is executed
  };

  void plan_run(Part part, Instant when) {
    const std::uint64_t plan = ++loops_[part].plan;
    world_.events.at(when, [life = shared_from_this(), part, plan] {
      if (!life->is_dead_ && life->loops_[part].plan == plan) life->run(part);
    });
  }

  void wake(Part part) {
    if (!is_built_) return;
    if (loops_[part].is_running) {
      loops_[part].is_woken = true;
    } else {
      plan_run(part, world_.now() + std::chrono::ceil<std::chrono::microseconds>(world_.chance.around(kWakeUpOfRelay)));
    }
  }

  void run(Part part) {
    if (node_.paused_until_ > world_.now()) return plan_run(part, node_.paused_until_);
    Driven& driven = loops_[part];
    const auto life = shared_from_this();  // outlives the unwinding of this call
    driven.is_running = true;
    driven.is_woken = false;
    MonotonicTime next;
    try {
      next = driven.loop->run_once(node_.clock_.now());
    } catch (const Crash&) {
      return;
    }
    driven.is_running = false;
    if (is_dead_) return;
    plan_run(part, driven.is_woken ? world_.now()
                                   : std::max(node_.clock_.when(next), world_.now() + std::chrono::microseconds(1)));
  }

  RelayNode& node_;
  World& world_;
  StoreLink link_;
  ReadClock clock_;
  FaultyMessages messages_;
  IdleLook look_{messages_, world_.log()};
  std::array<Driven, kParts> loops_;
  bool is_built_ = false;
  BrokerSource* source_ = nullptr;
  std::unique_ptr<Relay> relay_;
};

RelayNode::RelayNode(World& world, Broker& broker, DelayLedger& ledger, const DelayPlan& plan, int index)
    : world_(world),
      broker_(broker),
      ledger_(ledger),
      plan_(plan),
      index_(index),
      clock_(world.events, plan.base.drift * (2.0 * world.chance.unit() - 1.0)) {}

RelayNode::~RelayNode() = default;

void RelayNode::start() {
  if (life_ != nullptr) return;
  life_ = std::make_shared<RelayLife>(*this);
  life_->begin();
}

void RelayNode::end_life(Duration until_restart) {
  if (life_ == nullptr) return;
  life_->is_dead_ = true;
  life_->vanish();
  // The stacks of calls in progress still refer to it.
  world_.events.after({}, [life = std::move(life_)] { (void)life; });
  life_.reset();
  world_.events.after(until_restart, [this] { start(); });
}

void RelayNode::crash() {
  if (life_ == nullptr) return;
  world_.fault(fmt::format("node-{} crashes", index_));
  end_life(world_.chance.around(plan_.relay.hold_time / 2));
}

void RelayNode::drain() {
  if (life_ == nullptr || std::exchange(life_->is_draining_, true)) return;
  world_.note(fmt::format("node-{} stops", index_));
  life_->drain();
  check_drained(life_, world_.now() + std::chrono::ceil<std::chrono::microseconds>(kGrace));
}

void RelayNode::check_drained(const std::shared_ptr<RelayLife>& life, Instant deadline) {
  if (life->is_dead_) return;
  if (life->is_drained() || world_.now() >= deadline) {
    life->close();
    return end_life(kRestartOfRelay);
  }
  world_.events.after(std::chrono::milliseconds(20), [this, life, deadline] { check_drained(life, deadline); });
}

void RelayNode::pause(Duration time) {
  if (paused_until_ > world_.now()) return;
  world_.fault(fmt::format("node-{} is paused", index_));
  paused_until_ = world_.now() + std::chrono::ceil<std::chrono::microseconds>(time);
}

void RelayNode::cut_off(Duration time) {
  if (cut_off_until_ > world_.now()) return;
  world_.fault(fmt::format("node-{} is cut off from the store", index_));
  cut_off_until_ = world_.now() + std::chrono::ceil<std::chrono::microseconds>(time);
}

bool RelayNode::put(const NewMessage& message) {
  const auto life = life_;
  if (life == nullptr || life->is_draining_ || paused_until_ > world_.now()) return false;
  try {
    return life->put(message);
  } catch (const Crash&) {
    return false;
  }
}

}  // namespace horae::sim
