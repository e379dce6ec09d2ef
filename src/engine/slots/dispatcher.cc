#include "engine/slots/dispatcher.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"

namespace horae {
namespace {

Event event_of(RunEnd::Kind kind) {
  switch (kind) {
    case RunEnd::Kind::kDone:
      return Event::kComplete;
    case RunEnd::Kind::kFailed:
      return Event::kAbort;
    case RunEnd::Kind::kStopped:
      return Event::kYield;
  }
  HORAE_CHECK(false, "no such end of a run");
}

}  // namespace

class Dispatcher::Step final : public Loop {
 public:
  using Member = MonotonicTime (Dispatcher::*)(MonotonicTime);
  Step(std::string_view name, Dispatcher& dispatcher, Member member)
      : name_(name), dispatcher_(dispatcher), member_(member) {}

  std::string_view name() const override { return name_; }
  MonotonicTime run_once(MonotonicTime now) override {
    {
      const std::lock_guard lock(dispatcher_.mutex_);
      dispatcher_.set_now(now);
    }
    return (dispatcher_.*member_)(now);
  }

 private:
  const std::string_view name_;
  Dispatcher& dispatcher_;
  const Member member_;
};

Dispatcher::Dispatcher(Parts parts, std::string owner, Logger log, DispatcherSignals signals, DispatcherOptions options)
    : tasks_(parts.tasks),
      exchange_(std::move(parts.exchange)),
      queues_(parts.queues),
      claimer_(parts.claimer),
      ids_(parts.ids),
      random_(parts.random),
      owner_(std::move(owner)),
      log_(std::move(log)),
      signals_(std::move(signals)),
      options_(std::move(options)),
      dispatching_(std::make_unique<Step>("dispatcher", *this, &Dispatcher::dispatch_once)),
      elevator_(std::make_unique<Step>("elevator", *this, &Dispatcher::elevate_once)),
      heartbeats_(std::make_unique<Step>("heartbeats", *this, &Dispatcher::beat_once)),
      settling_(std::make_unique<Step>("settling", *this, &Dispatcher::settle_once)),
      own_{parts.executor, {}, std::vector<Slot>(options_.slots)},
      internal_{parts.upkeep, {}, std::vector<Slot>(1)} {
  publish(parts.meter);
}

Dispatcher::~Dispatcher() = default;

// The end of a run comes without a time; the next pass of a loop, which it wakes, knows one.
void Dispatcher::set_now(MonotonicTime now) {
  last_now_ = std::max(last_now_, now);
  for (const MonotonicTime begin : std::exchange(ended_, {})) run_times_.add(now - begin);
}

// ---- Chores into slots ----

MonotonicTime Dispatcher::dispatch_once(MonotonicTime now) {
  fill(own_, now);
  fill(internal_, now);
  return now + options_.dispatch_interval;
}

// Runs that end at once are settled together, when all slots are filled.
void Dispatcher::fill(Lane& lane, MonotonicTime now) {
  bool any = false;
  {
    const std::lock_guard lock(mutex_);
    is_filling_ = true;
  }
  while (const auto chore = book_slot(lane, now)) {
    any = true;
    start(lane, *chore, now);
  }
  {
    const std::lock_guard lock(mutex_);
    is_filling_ = false;
    any = std::exchange(has_ended_meanwhile_, false) || any;
  }
  if (any) signals_.settling();  // there is room for more
}

// The next chore and a free slot for it; nothing if one of them is missing.
std::optional<Dispatcher::Chore> Dispatcher::book_slot(Lane& lane, MonotonicTime now) {
  bool is_in_doubt = false;
  {
    const std::lock_guard lock(mutex_);
    const auto free = std::ranges::find_if(
        lane.slots, [](const Slot& slot) { return !slot.chore || HORAE_MUTANT("slot_booked_twice"); });
    const Chore* next = lane.chores.front();
    if (free == lane.slots.end() || next == nullptr) return std::nullopt;
    Held& held = held_.at(next->id);
    // A node that was suspended may have lost the lease: the next heartbeat finds out.
    is_in_doubt = now - held.confirmed >= options_.lease;
    if (!is_in_doubt) {
      free->chore = lane.chores.pop();
      free->chore->since = now;
      held.phase = Held::Phase::kRunning;
      return free->chore;
    }
  }
  signals_.heartbeats();
  return std::nullopt;
}

void Dispatcher::start(Lane& lane, const Chore& chore, MonotonicTime now) {
  lane.executor.start(chore.id, *chore.task, now, [this, id = chore.id](RunEnd end) { on_end(id, std::move(end)); });
  {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(chore.id);
    if (found == held_.end()) return;
    found->second.is_started = true;
    if (!found->second.is_stopping) return;
  }
  lane.executor.stop(chore.id, now);  // it was to stop before the executor knew it
}

void Dispatcher::on_end(ChoreId chore, RunEnd end) {
  bool is_filling = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(chore);
    HORAE_CHECK(found != held_.end() && found->second.phase == Held::Phase::kRunning, "a run has ended twice");
    Held& held = found->second;
    free_slot(*held.lane, chore);
    if (held.is_lost) {
      held_.erase(found);
    } else {
      leave(chore, settlement(*held.task, std::move(end)));
    }
    is_filling = is_filling_;
    has_ended_meanwhile_ = is_filling;
  }
  signals_.dispatch();
  if (!is_filling) signals_.settling();
}

void Dispatcher::free_slot(Lane& lane, ChoreId chore) {
  for (Slot& slot : lane.slots) {
    if (!slot.chore || slot.chore->id != chore) continue;
    if (&lane == &own_) {
      is_full_ = false;
      ended_.push_back(slot.chore->since);
    }
    slot.chore.reset();
  }
}

MonotonicTime Dispatcher::elevate_once(MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  own_.chores.elevate();
  internal_.chores.elevate();
  return now + options_.elevator_interval;
}

// ---- Heartbeats ----

MonotonicTime Dispatcher::beat_once(MonotonicTime now) {
  std::vector<Outgoing> beats;
  std::vector<Running> running;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [chore, held] : held_) {
      if (HORAE_MUTANT("chores_are_not_beaten") && held.phase == Held::Phase::kWaiting) continue;
      beats.push_back({chore, settlement(Event::kHeartbeat, *held.task)});
      running.push_back({chore, held.is_started ? &held.lane->executor : nullptr});
    }
  }
  for (std::size_t i = 0; i < beats.size(); ++i) {
    if (running[i].executor == nullptr) continue;
    RunProgress reached = running[i].executor->progress(running[i].chore, now);
    Settlement reported = beats[i].settlement;
    reported.progress = reached.progress;
    reported.checkpoint = std::move(reached.checkpoint);
    if (check_settlement(reported).ok()) beats[i].settlement = std::move(reported);  // else only the lease is extended
  }
  for (std::size_t from = 0; from < beats.size(); from += kMaxBatch) {
    const auto batch = std::span(beats).subspan(from, std::min(kMaxBatch, beats.size() - from));
    std::vector<Settlement> settlements;
    for (const Outgoing& beat : batch) settlements.push_back(beat.settlement);
    const auto outcomes = tasks_.settle(settlements);
    if (!outcomes.ok()) {
      log_.warn("cannot send heartbeats", {{"tasks", beats.size()}, {"reason", outcomes.error().message}});
      return now + std::min(options_.poll, options_.lease / 3);
    }
    for (std::size_t i = 0; i < batch.size(); ++i) on_verdict(batch[i].chore, settlements[i], (*outcomes)[i], now);
  }
  return now + options_.lease / 3;
}

void Dispatcher::on_verdict(ChoreId chore, const Settlement& beat, const SettleOutcome& outcome, MonotonicTime now) {
  std::optional<Running> to_stop;
  {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(chore);
    if (found == held_.end() || found->second.phase == Held::Phase::kLeaving)
      return;  // its settlement gets the verdict
    Held& held = found->second;
    if (is_success(outcome.verdict)) {
      held.confirmed = std::max(held.confirmed, now);
      return;
    }
    held.is_lost = true;
    if (held.phase == Held::Phase::kWaiting) {
      held.lane->chores.remove(chore);
      held_.erase(found);
    } else {
      to_stop = begin_stop(chore, held);
    }
  }
  log_.info("this node lost a task", {{"reason", settle_error(beat, outcome).message}});
  if (to_stop) stop({*to_stop}, now);
  signals_.settling();
}

std::optional<Dispatcher::Running> Dispatcher::begin_stop(ChoreId chore, Held& held) {
  held.is_stopping = true;
  if (!held.is_started) return std::nullopt;  // start() does it
  return Running{chore, &held.lane->executor};
}

void Dispatcher::stop(const std::vector<Running>& runs, MonotonicTime now) {
  for (const Running& run : runs) run.executor->stop(run.chore, now);
}

// ---- Leaving ----

void Dispatcher::leave(ChoreId chore, Settlement settlement) {
  Held& held = held_.at(chore);
  held.phase = Held::Phase::kLeaving;
  outgoing_.push_back({chore, std::move(settlement)});
}

// A waiting chore is released without a trace; an internal task, which no other node would run, ends.
void Dispatcher::let_go(Lane& lane, const Chore& chore) {
  lane.chores.remove(chore.id);
  if (HORAE_MUTANT("released_chore_starts") && !is_draining_) {
    outgoing_.push_back({0, settlement(Event::kRelease, *chore.task)});
    lane.chores.push(level_of(chore.task->priority), {.id = chore.id, .task = chore.task, .since = last_now_});
    return;
  }
  leave(chore.id, &lane == &own_
                      ? settlement(Event::kRelease, *chore.task)
                      : settlement(*chore.task, run_failed("node_stopped", "the node stopped before this began")));
}

void Dispatcher::drain(MonotonicTime now) {
  std::vector<Running> runs;
  {
    const std::lock_guard lock(mutex_);
    is_draining_ = true;
    for (Lane* lane : {&own_, &internal_}) {
      if (HORAE_MUTANT("drained_nodes_keep_chores")) continue;
      for (const auto& entry : lane->chores.backlog()) let_go(*lane, entry.chore);
    }
    for (auto& [chore, held] : held_) {
      if (held.phase != Held::Phase::kRunning) continue;
      if (const auto run = begin_stop(chore, held)) runs.push_back(*run);
    }
  }
  stop(runs, now);
  signals_.settling();
}

// ---- Small things ----

bool Dispatcher::is_empty() const {
  const std::lock_guard lock(mutex_);
  return holds_nothing();
}

std::size_t Dispatcher::room() const {
  if (own_.slots.empty() || options_.queues.empty()) return 0;
  const std::size_t most = own_.slots.size() - busy_slots(own_) + room_ahead();
  return most - std::min(most, own_.chores.size());
}

// Slots that are busy for longer than short runs take are not expected to be free soon.
std::size_t Dispatcher::room_ahead() const {
  if (is_full_) return 0;
  const auto is_quick = [this](const Slot& slot) {
    return !slot.chore || last_now_ - slot.chore->since < options_.ahead_time;
  };
  const auto quick = static_cast<std::size_t>(std::ranges::count_if(own_.slots, is_quick));
  return std::min(options_.ahead, run_times_.starts_within(options_.ahead_time, quick));
}

std::size_t Dispatcher::busy_slots(const Lane& lane) {
  return static_cast<std::size_t>(
      std::ranges::count_if(lane.slots, [](const Slot& slot) { return slot.chore.has_value(); }));
}

void Dispatcher::publish(Meter& meter) {
  const auto probe = [&](const Figure& figure, std::size_t (*count)(const Lane&)) {
    probes_.push_back(meter.probe(figure, [this, count] {
      const std::lock_guard lock(mutex_);
      return static_cast<double>(count(own_) + count(internal_));
    }));
  };
  probe({"horae_slots", "The node's own slots"}, [](const Lane& lane) { return lane.slots.size(); });
  probe({"horae_slots_busy", "Slots that run a task"}, busy_slots);
  probe({"horae_backlog", "Chores that wait for a slot"}, [](const Lane& lane) { return lane.chores.size(); });
}

DispatcherStatus Dispatcher::status() const {
  const std::lock_guard lock(mutex_);
  DispatcherStatus status{.is_draining = is_draining_, .is_waiting = has_wish_, .backlog = {}, .slots = {}};
  for (const Lane* lane : {&own_, &internal_}) {
    for (const auto& [position, chore] : lane->chores.backlog()) {
      status.backlog.push_back({position, chore.task->id, chore.task->queue, chore.task->attempt, chore.since});
    }
    for (const Slot& slot : lane->slots) {
      SlotEntry entry{.is_internal = lane == &internal_, .run = std::nullopt};
      if (slot.chore) {
        const LeasedTask& task = *slot.chore->task;
        entry.run = SlotEntry::Run{task.id, task.queue, task.attempt, slot.chore->since};
      }
      status.slots.push_back(std::move(entry));
    }
  }
  return status;
}

Settlement Dispatcher::settlement(Event event, const LeasedTask& task) const {
  return {.event = event,
          .id = task.id,
          .number = task.number,
          .attempt = task.attempt,
          .owner = owner_,
          .lease = options_.lease,
          .chance = 0.0,
          .queue = task.queue};
}

Settlement Dispatcher::settlement(const LeasedTask& task, RunEnd end) {
  Settlement said = settlement(event_of(end.kind), task);
  said.result = std::move(end.result);
  said.errors = std::move(end.errors);
  said.progress = end.last.progress;
  said.checkpoint = std::move(end.last.checkpoint);
  said.chance = random_.unit();
  // The result comes from outside, and a store refuses a whole batch for one bad item.
  if (const auto checked = check_settlement(said); !checked.ok()) {
    return settlement(task, run_failed("bad_result", checked.error().message.substr(0, kMaxReasonBytes)));
  }
  return said;
}

}  // namespace horae
