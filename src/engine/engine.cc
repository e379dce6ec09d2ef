#include "engine/engine.h"

#include <algorithm>
#include <utility>

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
    : clock_(clock),
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
      runner_(clock, log) {
  runner_.add(dispatcher_.heartbeats(), wakers_.heartbeats);
  runner_.add(dispatcher_.exchange(), wakers_.exchange);
  runner_.add(sleeps_, wakers_.sleepers);
  runner_.add(upkeep_, wakers_.upkeep);
  runner_.add(dispatcher_.dispatching(), wakers_.dispatching);
  runner_.add(dispatcher_.elevator(), wakers_.elevator);
  runner_.add(claimer_, wakers_.claimer);
  runner_.add(monitor_, wakers_.monitor);
  runner_.add(promoter_, wakers_.promoter);
}

Engine::~Engine() { runner_.stop(); }

DispatcherSignals Engine::signals() {
  return {.dispatch = [this] { wakers_.dispatching.wake(); },
          .exchange = [this] { wakers_.exchange.wake(); },
          .heartbeats = [this] { wakers_.heartbeats.wake(); },
          .ready = [this](const std::vector<std::string>& queues) { on_ready(queues); },
          .scheduled = [this] { on_scheduled(); },
          .drained = [this] { wakers_.drained.wake(); }};
}

void Engine::start() { runner_.start(); }

bool Engine::stop(Duration grace) {
  const MonotonicTime deadline = clock_.now() + grace;
  dispatcher_.drain(clock_.now());
  claimer_.drain();
  const auto is_empty = [this] { return dispatcher_.is_empty() && claimer_.is_empty(); };
  while (!is_empty() && clock_.now() < deadline) {
    wakers_.drained.wait(std::min(deadline, clock_.now() + kLook));
  }
  runner_.stop();
  return is_empty();
}

void Engine::on_control() {
  dispatcher_.on_closed();
  claimer_.on_ready_anywhere();
}

}  // namespace horae
