#include "observe/event_ring.h"

#include <algorithm>
#include <utility>

namespace horae {
namespace {

constexpr std::size_t kMaxQueuesKnown = 1 << 16;

}  // namespace

void EventRing::add(std::span<const Hint> hints) {
  if (hints.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    make_room();
    for (const Hint& hint : hints) {
      Hint& kept = hints_[++newest_ % capacity_];
      kept = hint;
      remember_queue(kept);
    }
  }
  wake_readers();
}

void EventRing::lose() {
  {
    const std::lock_guard lock(mutex_);
    make_room();
    hints_[++newest_ % capacity_] = Hint();
    lost_up_to_ = newest_;
  }
  wake_readers();
}

EventRing::Read EventRing::after(std::uint64_t after, std::size_t max) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t gone = std::max(lost_up_to_, newest_ - std::min<std::uint64_t>(newest_, capacity_));
  if (after < gone || after > newest_) return {.hints = {}, .next = newest_, .is_lost = true};
  Read read{.hints = {}, .next = std::min<std::uint64_t>(newest_, after + max)};
  read.hints.reserve(read.next - after);
  for (std::uint64_t number = after + 1; number <= read.next; ++number) {
    read.hints.push_back({number, hints_[number % capacity_]});
  }
  return read;
}

std::uint64_t EventRing::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

EventRing::ReaderId EventRing::join(std::function<void()> wake) {
  ReaderId reader = 0;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = wakes_.empty();
    reader = next_reader_++;
    wakes_[reader] = std::make_shared<const std::function<void()>>(std::move(wake));
  }
  if (is_first) first_reader_();
  return reader;
}

void EventRing::leave(ReaderId reader) {
  const std::lock_guard lock(mutex_);
  wakes_.erase(reader);
}

std::size_t EventRing::readers() const {
  const std::lock_guard lock(mutex_);
  return wakes_.size();
}

// All of it at the first hint, so that a node that lives long needs no more memory than a young one.
void EventRing::make_room() {
  if (!hints_.empty()) return;
  hints_.resize(capacity_);
  known_.resize(kMaxQueuesKnown);
}

void EventRing::remember_queue(Hint& hint) {
  Known& known = known_[std::hash<TaskId>()(hint.task) % known_.size()];
  if (!hint.queue.empty()) {
    known = {.task = hint.task, .queue = hint.queue};
  } else if (known.task == hint.task) {
    hint.queue = known.queue;
  }
}

void EventRing::wake_readers() const {
  std::vector<Wake> wakes;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [reader, wake] : wakes_) wakes.push_back(wake);
  }
  for (const Wake& wake : wakes) (*wake)();
}

}  // namespace horae
