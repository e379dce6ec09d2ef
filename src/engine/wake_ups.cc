#include "engine/wake_ups.h"

#include <algorithm>

namespace horae {
namespace {

template <typename Texts>
void add_once(Texts& texts, std::string_view text) {
  if (std::ranges::find(texts, text) == texts.end()) texts.emplace_back(text);
}

void add_ready(WakeUps& wake_ups, std::string_view queue) {
  if (queue.empty()) {
    wake_ups.ready_anywhere = true;
  } else {
    add_once(wake_ups.ready, queue);
  }
}

void add_counted(WakeUps& wake_ups, std::string_view queue, std::size_t count) {
  if (queue.empty() || count == 0) return add_ready(wake_ups, queue);
  const auto same = std::ranges::find(wake_ups.counted, queue, &ReadyTasks::queue);
  if (same != wake_ups.counted.end()) {
    same->count += count;
  } else {
    wake_ups.counted.push_back({.queue = std::string(queue), .count = count});
  }
}

void add_tasks(WakeUps& wake_ups, const Change& change) {
  if (change.state == State::kReady) add_counted(wake_ups, change.queue, change.count);
  if (change.state == State::kScheduled) wake_ups.scheduled = true;
  if (change.event != Event::kCancel) return;
  wake_ups.cancelled = true;
  if (!change.owner.empty()) add_once(wake_ups.cancelled_owners, change.owner);
}

}  // namespace

WakeUps wake_ups_of(std::span<const Change> changes) {
  WakeUps wake_ups;
  for (const Change& change : changes) {
    switch (change.kind) {
      case Change::Kind::kTask:
      case Change::Kind::kTasks:
        add_tasks(wake_ups, change);
        break;
      case Change::Kind::kQueue:
        if (change.is_open) add_ready(wake_ups, change.queue);
        break;
      case Change::Kind::kClaims:
        wake_ups.control = true;
        if (change.is_open) add_ready(wake_ups, change.queue);
        break;
      case Change::Kind::kSchedules:
        wake_ups.scheduled = true;
        break;
      case Change::Kind::kTokens:
        break;
    }
  }
  return wake_ups;
}

}  // namespace horae
