#include "engine/runner.h"

#include <ranges>

namespace horae {

void Runner::add(Loop& loop, Waker& waker) { driven_.push_back(std::make_unique<Driven>(loop, waker)); }

void Runner::start() {
  for (const auto& each : driven_) {
    each->is_stopping = false;
    each->thread = std::thread([this, driven = each.get()] { drive(*driven); });
  }
}

void Runner::stop() {
  for (const auto& each : std::views::reverse(driven_)) {
    if (!each->thread.joinable()) continue;
    each->is_stopping = true;
    each->waker.wake();
    each->thread.join();
    log_.debug("loop stopped", {{"loop", each->loop.name()}});
  }
}

void Runner::drive(Driven& driven) {
  while (!driven.is_stopping) {
    const MonotonicTime next = driven.loop.run_once(clock_.now());
    if (!driven.is_stopping) driven.waker.wait(next);
  }
}

}  // namespace horae
