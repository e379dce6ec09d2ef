#include "tests/relay/world.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/time_text.h"
#include "stores/sqlite/sqlite_store.h"

namespace horae::testing {
namespace {

constexpr int kMostRuns = 10'000;  // at one moment

}  // namespace

RelayNode::RelayNode(MessageStore& the_store, ManualClock& clock, RelayOptions options, bool has_dead_letters,
                     std::uint64_t seed)
    : store(the_store), clock_(clock), random_(seed), look_(store, Logger(log_, clock)) {
  const auto wakes = [this](Part part) { return [this, part] { loops_[part].is_woken = true; }; };
  auto the_source = std::make_unique<MemorySource>(wakes(kIntake));
  auto the_output = std::make_unique<MemorySink>(wakes(kFiring));
  auto the_letters = has_dead_letters ? std::make_unique<MemorySink>(wakes(kFiring)) : nullptr;
  source = the_source.get();
  output = the_output.get();
  dead_letters = the_letters.get();
  const Logger log(log_, clock);
  relay_ = std::make_unique<Relay>(RelayWorld{.store = store,
                                              .clock = clock,
                                              .random = random_,
                                              .log = log,
                                              .meter = no_meter(),
                                              .node = UuidSource(clock, random_).next()},
                                   std::move(options),
                                   RelayEnds{std::move(the_source), std::move(the_output), std::move(the_letters)},
                                   RelayWakes{wakes(kIntake), wakes(kFiring), wakes(kTurn), wakes(kRecovery)});
  look_.add(*relay_);
  const Relay::Loops loops = relay_->loops();
  loops_[kIntake].loop = loops.intake;
  loops_[kTurn].loop = loops.turn;
  loops_[kFiring].loop = loops.firing;
  loops_[kRecovery].loop = loops.recovery;
  loops_[kLook].loop = &look_;
}

void RelayNode::run_due() {
  if (is_stopped) return;
  for (int runs = 0;; ++runs) {
    HORAE_CHECK(runs < kMostRuns, "a loop wants to run at once for ever");
    const auto due =
        std::ranges::find_if(loops_, [&](const Driven& each) { return each.is_woken || each.next <= clock_.now(); });
    if (due == loops_.end()) return;
    due->is_woken = false;
    due->next = due->loop->run_once(clock_.now());
  }
}

MonotonicTime RelayNode::next() const {
  if (is_stopped) return MonotonicTime::max();
  return std::ranges::min_element(loops_, {}, &Driven::next)->next;
}

RelayWorldKit::RelayWorldKit(RelayOptions options, bool has_dead_letters)
    : store(std::move(open_sqlite_store(std::string(kSqliteMemory), clock)).value()),
      options_([&] {
        if (options.queue.empty()) options.queue = "orders";
        if (options.input.empty()) options.input = "orders.in";
        return options;
      }()),
      has_dead_letters_(has_dead_letters) {
  add_node();
}

RelayNode& RelayWorldKit::add_node() {
  nodes_.push_back(
      std::make_unique<RelayNode>(store->messages(), clock, options_, has_dead_letters_, nodes_.size() + 1));
  return *nodes_.back();
}

void RelayWorldKit::pass(Duration time) {
  const MonotonicTime end = clock.now() + time;
  for (;;) {
    for (const auto& each : nodes_) each->run_due();
    MonotonicTime next = end;
    for (const auto& each : nodes_) next = std::min(next, each->next());
    if (clock.now() == end) return;
    clock.advance(std::max(next - clock.now(), Duration(1)));
  }
}

std::vector<StoredMessage> RelayWorldKit::stored() {
  return store->messages().list({.delay_queue = options_.queue}).value().messages;
}

std::int64_t RelayWorldKit::send(const std::string& id, Duration delay) {
  return node().source->send("key", "value",
                             headers_of(id, now() + std::chrono::floor<std::chrono::microseconds>(delay)));
}

std::vector<MessageHeader> headers_of(const std::string& id, Instant deadline) {
  return {{std::string(kMessageIdHeader), id}, {std::string(kDeadlineHeader), format_instant(deadline)}};
}

}  // namespace horae::testing
