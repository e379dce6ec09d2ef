#include "tests/sim/node.h"

#include <fmt/format.h>

#include <utility>

#include "base/mutant.h"

namespace horae::sim {
namespace {

constexpr Duration kWakeUp = std::chrono::microseconds(200);   // the mean until a loop that was woken runs
constexpr int kSafetyNet = 60;                                 // polls: how often loops look that the poller wakes
constexpr Duration kRestart = std::chrono::milliseconds(100);  // of a node that was drained

}  // namespace

MonotonicTime NodeClock::now() const {
  const Duration passed = events_.wall_now() - kStart;
  return MonotonicTime(std::chrono::hours(1) + passed + Chance::part(passed, drift_) + step_);
}

Instant NodeClock::when(MonotonicTime own) const {
  const Duration left = Chance::part(own - now(), 1.0 / (1.0 + drift_));
  return events_.wall_now() + std::chrono::ceil<std::chrono::microseconds>(std::max(left, Duration::zero()));
}

// ---- Node: up and down ----

Node::Node(World& world, int index)
    : world_(world), index_(index), clock_(world.events, world.plan.drift * (2.0 * world.chance.unit() - 1.0)) {}

Node::~Node() = default;

void Node::start() {
  if (life_ != nullptr) return;
  if (world_.store_is_down || cut_off_until_ > world_.now()) {
    world_.events.after(world_.chance.around(world_.plan.poll), [this] { start(); });
    return;
  }
  life_ = std::make_shared<NodeLife>(*this, world_.store->queues().new_worker_id().value());
  life_->begin();
}

void Node::end_life(Duration until_restart) {
  if (life_ == nullptr) return;
  life_->is_dead_ = true;
  life_.reset();
  world_.record(NodeGone{}, index_);
  world_.events.after(until_restart, [this] { start(); });
}

void Node::crash() {
  if (life_ == nullptr) return;
  world_.fault(fmt::format("node-{} crashes", index_));
  end_life(world_.chance.around(world_.plan.lease / 2));
}

void Node::drain(Duration grace) {
  if (life_ == nullptr || life_->is_draining_) return;
  life_->is_draining_ = true;
  const auto life = life_;
  life->monitor_.drain();
  life->dispatcher_.drain(clock_.now());
  life->claimer_.drain();
  check_drained(life, world_.now() + std::chrono::ceil<std::chrono::microseconds>(grace));
}

// Like Engine::stop(): the loops continue until no attempt is held any more, or until the deadline.
void Node::check_drained(const std::shared_ptr<NodeLife>& life, Instant deadline) {
  if (life->is_dead_) return;
  const bool is_empty = life->dispatcher_.is_empty() && life->claimer_.is_empty();
  if (is_empty || world_.now() >= deadline) return end_life(kRestart);
  world_.events.after(std::chrono::milliseconds(50), [this, life, deadline] { check_drained(life, deadline); });
}

void Node::pause(Duration time) {
  if (paused_until_ > world_.now()) return;
  world_.fault(fmt::format("node-{} is paused", index_));
  paused_until_ = world_.now() + std::chrono::ceil<std::chrono::microseconds>(time);
}

void Node::cut_off(Duration time) {
  if (cut_off_until_ > world_.now()) return;
  world_.fault(fmt::format("node-{} is cut off from the store", index_));
  cut_off_until_ = world_.now() + std::chrono::ceil<std::chrono::microseconds>(time);
}

bool Node::serve(const std::function<void(NodeLife&)>& request) {
  const auto life = life_;
  if (life == nullptr || life->is_draining_) return false;
  try {
    request(*life);
  } catch (const Crash&) {
    return false;
  }
  return true;
}

// ---- NodeLife: the loops ----

class NodeLife::WatchedExecutor final : public Executor {
 public:
  WatchedExecutor(NodeLife& life, Executor& executor) : life_(life), executor_(executor) {}

  void start(ChoreId run, const LeasedTask& task, MonotonicTime now, OnEnd on_end) override {
    life_.world_.record(RunBegins{task.id, task.attempt}, life_.index());
    executor_.start(run, task, now, [this, id = task.id, attempt = task.attempt, on_end](RunEnd end) {
      life_.world_.record(RunEnds{id, attempt}, life_.index());
      on_end(std::move(end));
    });
  }
  void stop(ChoreId run, MonotonicTime now) override { executor_.stop(run, now); }
  RunProgress progress(ChoreId run, MonotonicTime now) override { return executor_.progress(run, now); }

 private:
  NodeLife& life_;
  Executor& executor_;
};

NodeLife::NodeLife(Node& node, std::string owner)
    : node_(node),
      world_(node.world_),
      link_(world_, *this),
      faulty_tasks_(world_, node.index_, link_),
      faulty_queues_(world_, node.index_, link_),
      tasks_(faulty_tasks_, no_meter(), world_.events, *this),
      queues_(faulty_queues_, no_meter(), world_.events, *this),
      cluster_(world_, link_),
      sleeps_([this] { wake(kSleepers); }),
      executors_({{"sleep", &sleeps_}}),
      watched_(std::make_unique<WatchedExecutor>(*this, executors_)),
      combiner_(tasks_),
      claimer_(combiner_, tasks_, world_.log(), [this] { wake(kClaimer); },
               {.poll = world_.plan.poll * kSafetyNet, .retry = world_.plan.poll, .check = world_.plan.poll}),
      upkeep_({.tasks = tasks_,
               .ids = world_.ids,
               .add_chore = [this](LeasedTask task) { dispatcher_.add_internal(std::move(task)); },
               .wake = [this] { wake(kUpkeep); }},
              owner, world_.plan.lease, world_.log(), jobs()),
      dispatcher_({.tasks = tasks_,
                   .exchange = exchange_through(combiner_),
                   .queues = queues_,
                   .claimer = claimer_,
                   .executor = *watched_,
                   .upkeep = upkeep_,
                   .ids = world_.ids,
                   .random = world_.chance.random()},
                  owner, world_.log(), signals(), dispatcher_options()),
      promoter_(tasks_, world_.log(), {.poll = world_.plan.poll * kSafetyNet, .retry = world_.plan.poll}),
      monitor_(tasks_, world_.log(),
               {.poll = world_.plan.poll,
                .shortest_poll = world_.plan.poll / 40,
                .idle_poll = world_.plan.poll * kSafetyNet}),
      poller_(cluster_, world_.log(), {.id = owner, .address = {}, .version = "sim", .started_at = {}, .last_seen = {}},
              poller_signals(), {.poll = world_.plan.poll}),
      loops_(kParts) {
  loops_[kHeartbeats].loop = &dispatcher_.heartbeats();
  loops_[kSettling].loop = &dispatcher_.settling();
  loops_[kSleepers].loop = &sleeps_;
  loops_[kUpkeep].loop = &upkeep_;
  loops_[kDispatching].loop = &dispatcher_.dispatching();
  loops_[kElevator].loop = &dispatcher_.elevator();
  loops_[kCombiner].loop = &rounds_;
  loops_[kClaimer].loop = &claimer_;
  loops_[kMonitor].loop = &monitor_;
  loops_[kPromoter].loop = &promoter_;
  loops_[kPoller].loop = &poller_;
}

ClusterPollerSignals NodeLife::poller_signals() {
  return {.awaited = [this] { return claimer_.take_awaited(); },
          .due = [this] { wake(kPromoter); },
          .ready = [this](const std::vector<std::string>& queues) { claimer_.on_ready(queues); },
          .ticked =
              [this](const Tick& tick, MonotonicTime now) {
                if (monitor_.on_tick(tick, now)) wake(kMonitor);
              }};
}

// As Engine does it; the other nodes of this world find out by polling.
void NodeLife::on_changes(std::span<const Change> changes) {
  const WakeUps wake_ups = wake_ups_of(changes);
  claimer_.on_wake_ups(wake_ups);
  if (wake_ups.scheduled) wake(kPromoter);
  if (wake_ups.cancelled) wake(kHeartbeats);
  if (wake_ups.control) dispatcher_.on_closed();
}

DispatcherSignals NodeLife::signals() {
  return {.dispatch = [this] { wake(kDispatching); },
          .settling = [this] { wake(kSettling); },
          .heartbeats = [this] { wake(kHeartbeats); },
          .drained = [] {}};
}

DispatcherOptions NodeLife::dispatcher_options() const {
  return {.queues = {"queue-0"},
          .slots = static_cast<std::size_t>(world_.plan.node_slots),
          .ahead = static_cast<std::size_t>(world_.plan.node_slots),
          .ahead_time = world_.plan.ahead_time,
          .give_back = world_.plan.give_back,
          .lease = world_.plan.lease,
          .dispatch_interval = world_.plan.poll / 20,
          .elevator_interval = world_.plan.poll,
          .poll = world_.plan.poll};
}

std::vector<UpkeepJob> NodeLife::jobs() {
  UpkeepJob retention = retention_job(tasks_);
  retention.interval = world_.plan.lease * 6;
  return {std::move(retention)};
}

void NodeLife::begin() {
  combiner_.open([this] { wake(kCombiner); });
  for (std::size_t part = 0; part < kParts; ++part) wake(static_cast<Part>(part));
}

void NodeLife::plan_run(Part part, Instant when) {
  const std::uint64_t plan = ++loops_[part].plan;
  world_.events.at(when, [life = shared_from_this(), part, plan] {
    if (!life->is_dead_ && life->loops_[part].plan == plan) life->run(part);
  });
}

void NodeLife::wake(Part part) {
  if (loops_.empty()) return;  // a signal while the node is being built
  if (loops_[part].is_running) {
    loops_[part].is_woken = true;
  } else {
    plan_run(part, world_.now() + std::chrono::ceil<std::chrono::microseconds>(world_.chance.around(kWakeUp)));
  }
}

void NodeLife::run(Part part) {
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

bool NodeLife::is_cut_off() const { return node_.cut_off_until_ > world_.now(); }

void NodeLife::die() {
  if (!is_dead_) node_.end_life(world_.chance.around(world_.plan.lease / 2));
}

// ---- NodeLife: calls ----

void NodeLife::submit(const Submission& submission, const Reply<SubmitOutcome>& reply) {
  combiner_.submit(submission, [reply, id = submission.id()](Result<SubmitOutcome> outcome) {
    if (!outcome.ok() && HORAE_MUTANT("acknowledged_before_stored")) outcome = SubmitOutcome{.id = id};
    (void)reply(std::move(outcome));
  });
}

void NodeLife::settle(const Settlement& settlement, const Reply<SettleOutcome>& reply) {
  combiner_.settle(settlement, [reply](Result<SettleOutcome> outcome) { (void)reply(std::move(outcome)); });
}

void NodeLife::cancel(const CancelWish& wish, const Reply<CancelOutcome>& reply) {
  combiner_.cancel(wish, [reply](Result<CancelOutcome> outcome) { (void)reply(std::move(outcome)); });
}

// As the route does.
void NodeLife::exchange(const Settlement& settlement, std::optional<ClaimWish> wish,
                        const Reply<Claimer::Answer>& reply) {
  claimer_.exchange({.owner = settlement.owner,
                     .settlements = {settlement},
                     .claim = std::move(wish),
                     .deliver = [reply](Claimer::Answer answer) {
                       if (!answer.settled.front().ok()) return reply(answer.settled.front().error());
                       if (!answer.tasks.ok()) return reply(answer.tasks.error());
                       return reply(std::move(answer));
                     }});
}

Result<QueueSettings> NodeLife::configure(const std::string& queue, const QueueChange& change) {
  return queues_.configure(queue, change);
}

Result<bool> NodeLife::set_scheduler_running(bool running) { return queues_.set_scheduler_running(running); }

void NodeLife::wait_for_tasks(ClaimWish wish, Duration patience, Claimer::Deliver deliver) {
  world_.record(Waiting{wish.owner, wish.queues}, index());
  const std::string owner = wish.owner;
  claimer_.wait(std::move(wish), node_.clock_.now() + patience,
                [this, owner, deliver = std::move(deliver)](Result<std::vector<LeasedTask>> tasks) {
                  world_.record(WaitOver{owner}, index());
                  return deliver(std::move(tasks));
                });
}

}  // namespace horae::sim
