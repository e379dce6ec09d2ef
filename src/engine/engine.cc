#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/version.h"

namespace horae {
namespace {

constexpr Duration kClaimerPoll =
    std::chrono::milliseconds(20);  // of stop(), because the claimer does not signal its end

std::vector<UpkeepJob> jobs_of(TaskStore& tasks, const EngineOptions& options) {
  UpkeepJob retention = retention_job(tasks);
  retention.interval = options.upkeep_interval;
  return {std::move(retention)};
}

}  // namespace

Engine::Engine(Store& store, Combiner& combiner, const Clock& clock, Random& random, const std::string& owner,
               const Logger& log, const EngineOptions& options, Meter& meter)
    : cluster_(store.cluster()),
      clock_(clock),
      owner_(owner),
      log_(log),
      ids_(clock, random),
      sleeps_([this] { wakers_.sleepers.wake(); }),
      executors_({{"sleep", &sleeps_}}),
      claimer_(
          combiner, store.tasks(), log, [this] { wakers_.claimer.wake(); }, options.claimer, meter),
      upkeep_({.tasks = store.tasks(),
               .ids = ids_,
               .add_chore = [this](LeasedTask task) { dispatcher_.add_internal(std::move(task)); },
               .wake = [this] { wakers_.upkeep.wake(); }},
              owner, options.dispatcher.lease, log, jobs_of(store.tasks(), options)),
      dispatcher_({.tasks = store.tasks(),
                   .exchange = exchange_through(combiner),
                   .queues = store.queues(),
                   .claimer = claimer_,
                   .executor = executors_,
                   .upkeep = upkeep_,
                   .ids = ids_,
                   .random = random,
                   .meter = meter},
                  owner, log, signals(), options.dispatcher),
      promoter_(store.tasks(), log, options.promoter),
      schedules_(store.schedules(), ids_, system_zones(), log, options.schedules, meter),
      monitor_(store.tasks(), log, options.monitor),
      notifier_(
          owner, log, [this] { wakers_.notifier.wake(); }, options.notifier),
      poller_(store.cluster(), log,
              {.id = owner, .address = {}, .version = std::string(version()), .started_at = {}, .last_seen = {}},
              poller_signals(), options.poller),
      runner_(clock, log) {
  runner_.add(notifier_, wakers_.notifier);
  runner_.add(dispatcher_.heartbeats(), wakers_.heartbeats);
  runner_.add(dispatcher_.settling(), wakers_.settling);
  runner_.add(sleeps_, wakers_.sleepers);
  runner_.add(upkeep_, wakers_.upkeep);
  runner_.add(dispatcher_.dispatching(), wakers_.dispatching);
  runner_.add(dispatcher_.elevator(), wakers_.elevator);
  runner_.add(claimer_, wakers_.claimer);
  runner_.add(monitor_, wakers_.monitor);
  runner_.add(promoter_, wakers_.promoter);
  runner_.add(schedules_, wakers_.schedules);
  runner_.add(poller_, wakers_.poller);
}

Engine::~Engine() {
  runner_.stop();
  bulletin_.reset();
}

DispatcherSignals Engine::signals() {
  return {.dispatch = [this] { wakers_.dispatching.wake(); },
          .settling = [this] { wakers_.settling.wake(); },
          .heartbeats = [this] { wakers_.heartbeats.wake(); },
          .drained = [this] { wakers_.drained.wake(); }};
}

ClusterPollerSignals Engine::poller_signals() {
  return {.awaited = [this] { return claimer_.take_awaited(); },
          .is_deaf = [this] { return is_deaf(); },
          .due =
              [this] {
                wakers_.promoter.wake();
                wakers_.schedules.wake();
              },
          .ready = [this](const std::vector<std::string>& queues) { claimer_.on_ready(queues); },
          .ticked =
              [this](const Tick& tick, MonotonicTime now) {
                if (monitor_.on_tick(tick, now)) wakers_.monitor.wake();
                notifier_.set_peers(tick.peers, tick.peers_want_events);
                listeners_.ticked(tick);
              }};
}

void Engine::start() {
  is_started_ = true;
  bulletin_ = cluster_.listen([this](std::optional<std::string_view> message) { receive(message); });
  notifier_.set_bulletin(bulletin_.get());
  runner_.start();
}

bool Engine::stop(Duration grace) {
  const MonotonicTime deadline = clock_.now() + grace;
  monitor_.drain();
  dispatcher_.drain(clock_.now());
  claimer_.drain();
  const auto is_empty = [this] { return dispatcher_.is_empty() && claimer_.is_empty(); };
  while (!is_empty() && clock_.now() < deadline) {
    wakers_.drained.wait(std::min(deadline, clock_.now() + kClaimerPoll));
  }
  runner_.stop();
  leave();
  return is_empty();
}

void Engine::leave() {
  if (!std::exchange(is_started_, false)) return;
  notifier_.send_all();  // what was released at the end
  notifier_.set_bulletin(nullptr);
  bulletin_.reset();
  if (const auto left = cluster_.leave(owner_); !left.ok()) {
    log_.debug("cannot leave the list of nodes", {{"reason", left.error().message}});
  }
}

// ---- Wake-ups ----

void Engine::on_changes(std::span<const Change> changes) {
  const WakeUps wake_ups = wake_ups_of(changes);
  if (wake_ups == WakeUps()) return;
  wake(wake_ups);
  notifier_.wake_peers(wake_ups);
}

void Engine::wake(const WakeUps& wake_ups) {
  claimer_.on_wake_ups(wake_ups);
  if (wake_ups.scheduled) {
    wakers_.promoter.wake();
    wakers_.schedules.wake();
  }
  if (wake_ups.cancelled) wakers_.heartbeats.wake();
  if (wake_ups.control) dispatcher_.on_closed();
}

// ---- Other nodes ----

void Engine::set_address(std::string address) {
  poller_.set_address(std::move(address));
  wakers_.poller.wake();
}

void Engine::set_wants_events(bool wants_events) {
  poller_.set_wants_events(wants_events);
  wakers_.poller.wake();
}

// Other nodes are not notified again: every node gets every message.
void Engine::receive(std::optional<std::string_view> message) {
  // What may have been lost may have been anything.
  static const PeerMessage kAnything{
      .from = {}, .wake_ups = {.ready_anywhere = true, .cancelled = true, .control = true}, .events_lost = true};
  const auto received = message ? parse_peer_message(*message) : kAnything;
  if (!received || received->from == owner_) return;
  wake(received->wake_ups);
  if (received->events_lost || !received->events.empty()) listeners_.received(received->events, received->events_lost);
}

}  // namespace horae
