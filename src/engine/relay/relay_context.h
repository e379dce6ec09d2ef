// What the loops of one relay share.
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/log.h"
#include "base/meter.h"
#include "base/random.h"
#include "base/uuid.h"
#include "engine/relay/dead_letters.h"
#include "engine/relay/holdings.h"
#include "engine/relay/publisher.h"
#include "engine/relay/relay_figures.h"
#include "engine/relay/relay_options.h"
#include "engine/relay/store_clock.h"
#include "engine/relay/timing_advance.h"
#include "store/message_store.h"

namespace horae {

// Each has the loop of that name run soon. Thread-safe functions that return at once.
struct RelayWakes {
  std::function<void()> intake = [] {};
  std::function<void()> firing = [] {};
  std::function<void()> turn = [] {};
  std::function<void()> recovery = [] {};
};

// What a relay gets from outside. All of it outlives the relay.
struct RelayWorld {
  MessageStore& store;
  const Clock& clock;  // the relay uses its monotonic time; the wall clock only for the status
  Random& random;
  Logger log;
  Meter& meter;
  Uuid node;  // of this process
};

struct RelayContext {
  RelayContext(const RelayWorld& world, RelayOptions the_options, Sink& output_sink, Sink* dead_letter_sink,
               RelayWakes the_wakes)
      : options(std::move(the_options)),
        node(world.node),
        store(world.store),
        clock(world.clock),
        random(world.random),
        log(world.log.with({{"delay_queue", options.queue}})),
        wake(std::move(the_wakes)),
        holdings(options.most_held, options.most_held_bytes),
        advance(options.timing_advance),
        output(output_sink),
        figures(options.queue, world.meter) {
    if (dead_letter_sink != nullptr) dead_letters.emplace(*dead_letter_sink);
  }

  // Calls the store, and learns the store's time from its answer, if it has one.
  template <typename Call>
  auto timed(Call call) -> decltype(call()) {
    const MonotonicTime sent = clock.now();
    auto answer = call();
    if (answer.ok()) store_clock.note(sent, clock.now(), answer->now);
    return answer;
  }

  // `mean`, give or take a quarter, so that nodes and messages do not act in unison.
  Duration jittered(Duration mean) const {
    return mean * 3 / 4 + Duration(static_cast<Duration::rep>(random.unit() * static_cast<double>((mean / 2).count())));
  }

  const RelayOptions options;
  const Uuid node;
  MessageStore& store;
  const Clock& clock;
  Random& random;
  Logger log;
  const RelayWakes wake;
  Holdings holdings;
  StoreClock store_clock;
  TimingAdvance advance;
  Publisher output;
  std::optional<DeadLetters> dead_letters;
  RelayFigures figures;
  std::atomic<bool> is_idle = false;  // the queue had no rows at the last turn, and nothing is held
};

}  // namespace horae
