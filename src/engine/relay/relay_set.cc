#include "engine/relay/relay_set.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace horae {
namespace {

constexpr Duration kDrainPoll = std::chrono::milliseconds(10);  // of stop(): the relays do not signal their end

}  // namespace

MonotonicTime IdleLook::run_once(MonotonicTime now) {
  std::vector<Relay*> idle;
  std::vector<std::string> names;
  for (Relay* relay : relays_) {
    if (!relay->is_idle()) continue;
    idle.push_back(relay);
    names.push_back(relay->queue());
  }
  if (idle.empty()) return now + kInterval;
  const auto looks = store_.look(names);
  if (!looks.ok()) {
    log_.debug("cannot look at the idle delay queues", {{"reason", looks.error().message}});
    for (Relay* relay : idle) relay->on_failed_look(now);
    return now + kInterval;
  }
  for (std::size_t i = 0; i < idle.size(); ++i) idle[i]->on_look(now, (*looks)[i]);
  return now + kInterval;
}

RelaySet::RelaySet(MessageStore& store, const Clock& clock, Random& random, const Logger& log, Meter& meter)
    : store_(store),
      clock_(clock),
      random_(random),
      log_(log),
      meter_(meter),
      node_(UuidSource(clock, random).next()),
      look_(store, log),
      runner_(clock, log) {}

RelaySet::~RelaySet() { runner_.stop(); }

void RelaySet::add(const RelayOptions& options, const Connect& connect) {
  HORAE_CHECK(members_.size() < kMaxDelayQueues, "the configuration limits the delay queues");
  auto wakers = std::make_unique<Wakers>();
  const RelayWakes wakes{.intake = [waker = &wakers->intake] { waker->wake(); },
                         .firing = [waker = &wakers->firing] { waker->wake(); },
                         .turn = [waker = &wakers->turn] { waker->wake(); },
                         .recovery = [waker = &wakers->recovery] { waker->wake(); }};
  const RelayWorld world{
      .store = store_, .clock = clock_, .random = random_, .log = log_, .meter = meter_, .node = node_};
  auto relay = std::make_unique<Relay>(world, options, connect(wakes), wakes);
  const Relay::Loops loops = relay->loops();
  runner_.add(*loops.firing, wakers->firing);
  runner_.add(*loops.turn, wakers->turn);
  runner_.add(*loops.recovery, wakers->recovery);
  if (loops.intake != nullptr) runner_.add(*loops.intake, wakers->intake);
  look_.add(*relay);
  members_.push_back({std::move(wakers), std::move(relay)});
}

void RelaySet::start() {
  if (members_.empty()) return;
  log_.info("the delay queues start", {{"node_id", to_string(node_)}, {"delay_queues", members_.size()}});
  runner_.add(look_, look_waker_);
  runner_.start();
}

bool RelaySet::is_drained() const {
  return std::ranges::all_of(members_, [](const Member& member) { return member.relay->is_drained(); });
}

bool RelaySet::stop(Duration grace) {
  const MonotonicTime deadline = clock_.now() + grace;
  for (const Member& member : members_) member.relay->drain();
  while (!is_drained() && clock_.now() < deadline) drained_.wait(std::min(deadline, clock_.now() + kDrainPoll));
  const bool is_empty = is_drained();
  runner_.stop();
  return is_empty;
}

void RelaySet::on_put(std::string_view queue) {
  for (const Member& member : members_) {
    if (member.relay->queue() == queue) member.relay->on_put();
  }
}

std::vector<RelayStatus> RelaySet::status() const {
  std::vector<RelayStatus> all;
  for (const Member& member : members_) all.push_back(member.relay->status());
  return all;
}

std::optional<RelayStatus> RelaySet::status(std::string_view queue) const {
  for (const Member& member : members_) {
    if (member.relay->queue() == queue) return member.relay->status();
  }
  return std::nullopt;
}

}  // namespace horae
