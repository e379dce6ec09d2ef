#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/version.h"

namespace horae {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(20);  // how often stop() looks at the claimer, which rings no bell

std::vector<UpkeepJob> jobs_of(TaskStore& tasks, const EngineOptions& options) {
  UpkeepJob retention = retention_job(tasks);
  retention.interval = options.upkeep_interval;
  return {std::move(retention)};
}

}  // namespace

Engine::Engine(Store& store, const Clock& clock, Random& random, const std::string& owner, const Logger& log,
               const EngineOptions& options)
    : cluster_(store.cluster()),
      clock_(clock),
      owner_(owner),
      log_(log),
      ids_(clock, random),
      sleeps_([this] { wakers_.sleepers.wake(); }),
      executors_({{"sleep", &sleeps_}}),
      claimer_(
          store.tasks(), log, [this] { wakers_.claimer.wake(); }, options.claimer),
      upkeep_({.tasks = store.tasks(),
               .ids = ids_,
               .add_chore = [this](LeasedTask task) { dispatcher_.add_internal(std::move(task)); },
               .wake = [this] { wakers_.upkeep.wake(); }},
              owner, options.dispatcher.lease, log, jobs_of(store.tasks(), options)),
      dispatcher_({.tasks = store.tasks(),
                   .queues = store.queues(),
                   .claimer = claimer_,
                   .executor = executors_,
                   .upkeep = upkeep_,
                   .ids = ids_,
                   .random = random},
                  owner, log, signals(), options.dispatcher),
      promoter_(
          store.tasks(), log, [this](const auto& queues) { on_ready(queues); }, options.promoter),
      monitor_(
          store.tasks(), log, [this](const auto& queues) { on_ready(queues); }, options.monitor),
      herald_(
          owner, log, [this] { wakers_.herald.wake(); }, options.herald),
      lookout_(store.cluster(), log,
               {.id = owner, .address = {}, .version = std::string(version()), .started_at = {}, .last_seen = {}},
               lookout_signals(), options.lookout),
      runner_(clock, log) {
  runner_.add(herald_, wakers_.herald);
  runner_.add(dispatcher_.heartbeats(), wakers_.heartbeats);
  runner_.add(dispatcher_.exchange(), wakers_.exchange);
  runner_.add(sleeps_, wakers_.sleepers);
  runner_.add(upkeep_, wakers_.upkeep);
  runner_.add(dispatcher_.dispatching(), wakers_.dispatching);
  runner_.add(dispatcher_.elevator(), wakers_.elevator);
  runner_.add(claimer_, wakers_.claimer);
  runner_.add(monitor_, wakers_.monitor);
  runner_.add(promoter_, wakers_.promoter);
  runner_.add(lookout_, wakers_.lookout);
}

Engine::~Engine() {
  runner_.stop();
  bulletin_.reset();
}

DispatcherSignals Engine::signals() {
  return {.dispatch = [this] { wakers_.dispatching.wake(); },
          .exchange = [this] { wakers_.exchange.wake(); },
          .heartbeats = [this] { wakers_.heartbeats.wake(); },
          .ready = [this](const std::vector<std::string>& queues) { on_ready(queues); },
          .scheduled = [this] { on_scheduled(); },
          .drained = [this] { wakers_.drained.wake(); }};
}

LookoutSignals Engine::lookout_signals() {
  return {.awaited = [this] { return claimer_.take_awaited(); },
          .is_deaf = [this] { return is_deaf(); },
          .due = [this] { wakers_.promoter.wake(); },
          .ready = [this](const std::vector<std::string>& queues) { claimer_.on_ready(queues); },
          .ticked =
              [this](const Tick& tick, MonotonicTime now) {
                if (monitor_.on_tick(tick, now)) wakers_.monitor.wake();
                herald_.set_peers(tick.peers, tick.peers_want_hints);
                listeners_.ticked(tick);
              }};
}

void Engine::start() {
  is_started_ = true;
  bulletin_ = cluster_.listen([this](std::optional<std::string_view> message) { hear(message); });
  herald_.set_bulletin(bulletin_.get());
  runner_.start();
}

bool Engine::stop(Duration grace) {
  const MonotonicTime deadline = clock_.now() + grace;
  dispatcher_.drain(clock_.now());
  claimer_.drain();
  const auto is_empty = [this] { return dispatcher_.is_empty() && claimer_.is_empty(); };
  while (!is_empty() && clock_.now() < deadline) {
    wakers_.drained.wait(std::min(deadline, clock_.now() + kLook));
  }
  runner_.stop();
  leave();
  return is_empty();
}

void Engine::leave() {
  if (!std::exchange(is_started_, false)) return;
  herald_.send_all();  // what was released at the end
  herald_.set_bulletin(nullptr);
  bulletin_.reset();
  if (const auto left = cluster_.leave(owner_); !left.ok()) {
    log_.debug("cannot leave the list of nodes", {{"reason", left.error().message}});
  }
}

// ---- Here ----

void Engine::on_ready(const std::vector<std::string>& queues) {
  claimer_.on_ready(queues);
  herald_.ready(queues);
}

void Engine::on_ready_anywhere() {
  claimer_.on_ready_anywhere();
  herald_.ready_anywhere();
}

void Engine::on_cancelled() {
  wakers_.heartbeats.wake();
  herald_.cancelled();
}

void Engine::on_control() {
  dispatcher_.on_closed();
  claimer_.on_ready_anywhere();
  herald_.control();
}

void Engine::set_address(std::string address) {
  lookout_.set_address(std::move(address));
  wakers_.lookout.wake();
}

void Engine::set_wants_hints(bool wants_hints) {
  lookout_.set_wants_hints(wants_hints);
  wakers_.lookout.wake();
}

// ---- Elsewhere ----

void Engine::hear(std::optional<std::string_view> message) {
  // What may have been lost may have been anything.
  static const HeraldMessage kAnything{
      .from = {}, .ready = {}, .ready_anywhere = true, .cancelled = true, .control = true, .hints_lost = true};
  const auto told = message ? parse_herald_message(*message) : kAnything;
  if (told && told->from != owner_) apply(*told);
}

// Nothing of it is told again: it was told to all.
void Engine::apply(const HeraldMessage& message) {
  if (!message.ready.empty()) claimer_.on_ready(message.ready);
  if (message.ready_anywhere) claimer_.on_ready_anywhere();
  if (message.cancelled) wakers_.heartbeats.wake();
  if (message.control) {
    dispatcher_.on_closed();
    claimer_.on_ready_anywhere();
  }
  if (message.hints_lost || !message.hints.empty()) listeners_.hinted(message.hints, message.hints_lost);
}

}  // namespace horae
