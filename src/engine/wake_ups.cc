#include "engine/wake_ups.h"

#include <algorithm>

namespace horae {
namespace {

void add_ready(WakeUps& wake_ups, std::string_view queue) {
  if (queue.empty()) {
    wake_ups.ready_anywhere = true;
  } else if (std::ranges::find(wake_ups.ready, queue) == wake_ups.ready.end()) {
    wake_ups.ready.emplace_back(queue);
  }
}

void add_tasks(WakeUps& wake_ups, const Change& change) {
  if (change.state == State::kReady) add_ready(wake_ups, change.queue);
  if (change.state == State::kScheduled) wake_ups.scheduled = true;
  if (change.event == Event::kCancel) wake_ups.cancelled = true;
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
