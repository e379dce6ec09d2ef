#include "observe/event_ring.h"

#include <algorithm>
#include <utility>

namespace horae {
namespace {

constexpr std::size_t kMaxQueuesKnown = 1 << 16;

}  // namespace

void EventRing::add(std::span<const LiveEvent> events) {
  if (events.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    if (!is_kept()) return count(events.size());
    make_room();
    for (const LiveEvent& event : events) {
      LiveEvent& kept = next_place();
      kept = event;
      remember_queue(kept);
    }
  }
  wake_readers();
}

void EventRing::add(std::span<const Change> changes) {
  if (std::ranges::none_of(changes, is_live_event)) return;
  {
    const std::lock_guard lock(mutex_);
    if (!is_kept()) return skip(changes);
    make_room();
    for (const Change& change : changes) {
      if (!is_live_event(change)) continue;
      LiveEvent& kept = next_place();
      assign(kept, change);
      remember_queue(kept);
    }
  }
  wake_readers();
}

// Only the queues of the tasks are kept, for the events that follow.
void EventRing::skip(std::span<const Change> changes) {
  make_room();
  std::size_t events = 0;
  for (const Change& change : changes) {
    if (!is_live_event(change)) continue;
    ++events;
    if (!change.queue.empty()) remember_queue(change.task, change.queue);
  }
  count(events);
}

// Events that nobody may read.
void EventRing::count(std::size_t events) {
  newest_ += events;
  lost_up_to_ = newest_;
}

void EventRing::lose() {
  {
    const std::lock_guard lock(mutex_);
    make_room();
    next_place() = LiveEvent();
    lost_up_to_ = newest_;
  }
  wake_readers();
}

EventRing::Read EventRing::after(std::uint64_t after, std::size_t max) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t gone = std::max(lost_up_to_, newest_ - std::min<std::uint64_t>(newest_, capacity_));
  if (after < gone || after > newest_) return {.events = {}, .next = newest_, .is_lost = true};
  Read read{.events = {}, .next = std::min<std::uint64_t>(newest_, after + max)};
  read.events.reserve(read.next - after);
  for (std::uint64_t number = after + 1; number <= read.next; ++number) {
    read.events.push_back({number, events_[number % capacity_]});
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
  const bool was_there = wakes_.erase(reader) > 0;
  if (was_there && wakes_.empty()) keep_until_ = newest_ + capacity_;
}

std::size_t EventRing::readers() const {
  const std::lock_guard lock(mutex_);
  return wakes_.size();
}

// All at the first event, so that the memory of a node does not grow as it ages.
void EventRing::make_room() {
  if (!events_.empty()) return;
  events_.resize(capacity_);
  known_.resize(kMaxQueuesKnown);
}

void EventRing::remember_queue(LiveEvent& event) {
  if (!event.queue.empty()) return remember_queue(event.task, event.queue);
  const KnownQueue& known = place_of(event.task);
  if (known.task == event.task) event.queue = known.queue;
}

void EventRing::remember_queue(const TaskId& task, std::string_view queue) {
  KnownQueue& known = place_of(task);
  known.task = task;
  known.queue = queue;
}

EventRing::KnownQueue& EventRing::place_of(const TaskId& task) {
  return known_[std::hash<TaskId>()(task) % known_.size()];
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
