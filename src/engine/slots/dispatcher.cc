#include "engine/slots/dispatcher.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"

namespace horae {
namespace {

constexpr Duration kLongestWish = std::chrono::hours(1);  // then the wish is renewed

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
      dispatcher_.last_now_ = std::max(dispatcher_.last_now_, now);
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

// ---- Chores into slots ----

MonotonicTime Dispatcher::dispatch_once(MonotonicTime now) {
  fill(own_, now);
  fill(internal_, now);
  return now + options_.dispatch_interval;
}

void Dispatcher::fill(Lane& lane, MonotonicTime now) {
  bool any = false;
  while (const auto chore = book_slot(lane, now)) {
    any = true;
    start(lane, *chore, now);
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
  {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(chore);
    HORAE_CHECK(found != held_.end() && found->second.phase == Held::Phase::kRunning, "a run has ended twice");
    Held& held = found->second;
    for (Slot& slot : held.lane->slots) {
      if (slot.chore && slot.chore->id == chore) slot.chore.reset();
    }
    if (held.is_lost) {
      held_.erase(found);
    } else {
      leave(chore, settlement(*held.task, std::move(end)));
    }
  }
  signals_.dispatch();
  signals_.settling();
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

// ---- To and from the store ----

MonotonicTime Dispatcher::settle_once(MonotonicTime now) {
  release_chores_of_closed_queues(now);
  send_outgoing();
  claim_more(now);
  bool is_drained = false;
  {
    const std::lock_guard lock(mutex_);
    is_drained = is_draining_ && held_.empty() && !has_wish_;
  }
  if (is_drained) signals_.drained();
  return now + options_.poll;
}

void Dispatcher::send_outgoing() {
  while (true) {
    std::vector<Outgoing> batch;
    {
      const std::lock_guard lock(mutex_);
      batch.assign(outgoing_.begin(),
                   outgoing_.begin() + static_cast<std::ptrdiff_t>(std::min(kMaxBatch, outgoing_.size())));
    }
    if (batch.empty()) return;
    std::vector<Settlement> settlements;
    for (const Outgoing& each : batch) settlements.push_back(each.settlement);
    const auto outcomes = tasks_.settle(settlements);
    if (!outcomes.ok()) {
      log_.warn("cannot settle ended runs; retrying", {{"tasks", batch.size()}, {"reason", outcomes.error().message}});
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      outgoing_.erase(outgoing_.begin(), outgoing_.begin() + static_cast<std::ptrdiff_t>(batch.size()));
      for (const Outgoing& each : batch) held_.erase(each.chore);
    }
    log_refused(settlements, *outcomes);
  }
}

void Dispatcher::log_refused(const std::vector<Settlement>& sent, const std::vector<SettleOutcome>& outcomes) {
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (is_success(outcomes[i].verdict)) continue;
    log_.warn("the end of a run was refused", {{"reason", settle_error(sent[i], outcomes[i]).message}});
  }
}

// Releases chores of queues that were paused, perhaps by another node, or all of them if the scheduler is stopped.
void Dispatcher::release_chores_of_closed_queues(MonotonicTime now) {
  std::set<std::string> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (now < next_check_) return;
    next_check_ = now + options_.poll;
    for (const auto& entry : own_.chores.backlog()) waiting.insert(entry.chore.task->queue);
  }
  if (waiting.empty()) return;
  const auto closed = queues_.closed(std::vector<std::string>(waiting.begin(), waiting.end()));
  if (!closed.ok()) {
    log_.warn("cannot check for paused queues", {{"reason", closed.error().message}});
    return;
  }
  const std::lock_guard lock(mutex_);
  for (const auto& entry : own_.chores.backlog()) {
    if (std::ranges::find(*closed, entry.chore.task->queue) != closed->end()) let_go(own_, entry.chore);
  }
}

void Dispatcher::claim_more(MonotonicTime now) {
  ClaimWish wish{.owner = owner_, .queues = options_.queues, .max = 0, .token = {}, .lease = options_.lease};
  {
    const std::lock_guard lock(mutex_);
    if (has_wish_ || is_draining_ || room() == 0) return;
    has_wish_ = true;
    wish.max = static_cast<int>(std::min(room(), kMaxBatch));
  }
  wish.token = ids_.next();
  claimer_.wait(std::move(wish), now + kLongestWish,
                [this](Result<std::vector<LeasedTask>> tasks) { return take(std::move(tasks)); });
}

// The claimer's answer. False if the node is about to stop: then the claimer releases the tasks.
bool Dispatcher::take(Result<std::vector<LeasedTask>> tasks) {
  bool is_accepted = false;
  {
    const std::lock_guard lock(mutex_);
    has_wish_ = false;
    is_accepted = !is_draining_;
    if (is_accepted && tasks.ok()) {
      for (LeasedTask& task : *tasks) push(own_, std::move(task));
    }
  }
  signals_.dispatch();
  signals_.settling();
  return is_accepted;
}

void Dispatcher::on_closed() {
  {
    const std::lock_guard lock(mutex_);
    next_check_ = MonotonicTime();
  }
  signals_.settling();
}

void Dispatcher::add_internal(LeasedTask task) {
  {
    const std::lock_guard lock(mutex_);
    push(internal_, std::move(task));
  }
  signals_.dispatch();
}

void Dispatcher::push(Lane& lane, LeasedTask task) {
  const int level = level_of(task.priority);
  const auto shared = std::make_shared<const LeasedTask>(std::move(task));
  const ChoreId id = ++last_chore_;
  held_.emplace(id, Held{.lane = &lane, .task = shared, .confirmed = last_now_});
  lane.chores.push(level, {.id = id, .task = shared, .since = last_now_});
  if (is_draining_) let_go(lane, {.id = id, .task = shared, .since = last_now_});
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
  return held_.empty() && !has_wish_;
}

std::size_t Dispatcher::room() const {
  if (own_.slots.empty() || options_.queues.empty()) return 0;
  const std::size_t most = own_.slots.size() - busy_slots(own_) + options_.ahead;
  return most - std::min(most, own_.chores.size());
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
  DispatcherStatus status{.is_draining = is_draining_, .backlog = {}, .slots = {}};
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
