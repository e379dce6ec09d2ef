#include "engine/runner.h"

namespace horae {

void Runner::add(Loop& loop, Waker& waker) { driven_.push_back(std::make_unique<Driven>(loop, waker)); }

void Runner::start() {
  for (const auto& each : driven_) {
    each->is_stopping = false;
    each->thread = std::thread([this, driven = each.get()] { drive(*driven); });
  }
}

void Runner::stop() {
  for (auto each = driven_.rbegin(); each != driven_.rend(); ++each) {
    Driven& driven = **each;
    if (!driven.thread.joinable()) continue;
    driven.is_stopping = true;
    driven.waker.wake();
    driven.thread.join();
    log_.debug("loop stopped", {{"loop", driven.loop.name()}});
  }
}

void Runner::drive(Driven& driven) {
  while (!driven.is_stopping) {
    const MonotonicTime next = driven.loop.run_once(clock_.now());
    if (!driven.is_stopping) driven.waker.wait(next);
  }
}

}  // namespace horae
