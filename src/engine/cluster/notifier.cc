#include "engine/cluster/notifier.h"

#include <iterator>
#include <utility>

#include "base/utf8.h"

namespace horae {
namespace {

constexpr Duration kUntilWoken = std::chrono::hours(1);

}  // namespace

void Notifier::set_peers(std::size_t peers, bool want_events) {
  const std::lock_guard lock(mutex_);
  peers_ = peers;
  want_events_ = want_events;
}

template <typename Note>
void Notifier::gather(Note note) {
  bool was_idle = false;
  {
    const std::lock_guard lock(mutex_);
    if (peers_ == 0) return;
    was_idle = !has_news();
    note();
    if (!has_news()) return;
  }
  if (was_idle) wake_();
}

void Notifier::wake_peers(const WakeUps& wake_ups) {
  gather([&] {
    // Without counts: the other nodes and this one compete for the tasks.
    ready_.insert(wake_ups.ready.begin(), wake_ups.ready.end());
    for (const ReadyTasks& each : wake_ups.counted) ready_.insert(each.queue);
    for (const std::string& owner : wake_ups.cancelled_owners) {
      if (owners_.size() < options_.max_events) owners_.insert(owner);
    }
    WakeUps& gathered = news_.wake_ups;
    gathered.ready_anywhere = gathered.ready_anywhere || wake_ups.ready_anywhere;
    gathered.cancelled = gathered.cancelled || wake_ups.cancelled;
    gathered.control = gathered.control || wake_ups.control;
  });
}

void Notifier::send_event(std::string text) {
  // The store refuses a whole message for one bad event.
  const bool fits = peer_frame_bytes(self_) + peer_item_bytes(text) <= kMaxBulletinBytes && is_text(text);
  gather([&] {
    if (!want_events_) return;
    if (fits && news_.events.size() < options_.max_events) {
      news_.events.push_back(std::move(text));
    } else {
      news_.events_lost = true;
    }
  });
}

void Notifier::send_event_loss() {
  gather([&] { news_.events_lost = true; });
}

bool Notifier::has_news() const {
  const WakeUps& wake_ups = news_.wake_ups;
  return !ready_.empty() || !owners_.empty() || wake_ups.ready_anywhere || wake_ups.cancelled || wake_ups.control ||
         news_.events_lost || !news_.events.empty();
}

// As much as fits. Names that do not fit become ready_anywhere; owners and events that do not fit wait for the next message.
PeerMessage Notifier::take_message() {
  PeerMessage message = std::exchange(news_, {});
  message.from = self_;
  std::size_t room = kMaxBulletinBytes - peer_frame_bytes(self_);
  std::size_t names = 0;
  for (const std::string& queue : ready_) names += peer_item_bytes(queue);
  if (names > room) {
    message.wake_ups.ready_anywhere = true;
  } else {
    room -= names;
    message.wake_ups.ready.assign(ready_.begin(), ready_.end());
  }
  ready_.clear();
  while (!owners_.empty() && peer_item_bytes(*owners_.begin()) <= room) {
    room -= peer_item_bytes(*owners_.begin());
    message.wake_ups.cancelled_owners.push_back(std::move(owners_.extract(owners_.begin()).value()));
  }

  auto next = message.events.begin();
  for (; next != message.events.end() && peer_item_bytes(*next) <= room; ++next) room -= peer_item_bytes(*next);
  news_.events.assign(std::make_move_iterator(next), std::make_move_iterator(message.events.end()));
  message.events.erase(next, message.events.end());
  return message;
}

bool Notifier::send() {
  PeerMessage message;
  {
    const std::lock_guard lock(mutex_);
    if (!has_news()) return true;
    message = take_message();
  }
  if (bulletin_ == nullptr) return true;
  const auto sent = bulletin_->tell(format_peer_message(message));
  if (sent.ok()) return true;
  log_.debug("cannot notify the other nodes", {{"reason", sent.error().message}});
  const std::lock_guard lock(mutex_);
  news_.events_lost = news_.events_lost || message.events_lost || !message.events.empty();
  return false;
}

bool Notifier::has_more() {
  const std::lock_guard lock(mutex_);
  return has_news();
}

MonotonicTime Notifier::run_once(MonotonicTime now) {
  if (now >= next_send_) next_send_ = now + (send() ? options_.interval : options_.retry);
  return has_more() ? next_send_ : now + kUntilWoken;
}

void Notifier::send_all() {
  while (has_more() && send()) {
  }
}

}  // namespace horae
