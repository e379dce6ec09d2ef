#include "engine/cluster/herald.h"

#include <iterator>
#include <utility>

#include "base/utf8.h"

namespace horae {
namespace {

constexpr Duration kUntilWoken = std::chrono::hours(1);

}  // namespace

void Herald::set_peers(std::size_t peers, bool want_hints) {
  const std::lock_guard lock(mutex_);
  peers_ = peers;
  want_hints_ = want_hints;
}

template <typename Note>
void Herald::gather(Note note) {
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

void Herald::ready(const std::vector<std::string>& queues) {
  gather([&] { ready_.insert(queues.begin(), queues.end()); });
}

void Herald::ready_anywhere() {
  gather([&] { news_.ready_anywhere = true; });
}

void Herald::cancelled() {
  gather([&] { news_.cancelled = true; });
}

void Herald::control() {
  gather([&] { news_.control = true; });
}

void Herald::hint(std::string text) {
  // The store refuses a whole message for one bad hint.
  const bool fits = herald_frame_bytes(self_) + herald_item_bytes(text) <= kMaxBulletinBytes && is_text(text);
  gather([&] {
    if (!want_hints_) return;
    if (fits && news_.hints.size() < options_.max_hints) {
      news_.hints.push_back(std::move(text));
    } else {
      news_.hints_lost = true;
    }
  });
}

void Herald::hints_lost() {
  gather([&] { news_.hints_lost = true; });
}

bool Herald::has_news() const {
  return !ready_.empty() || news_.ready_anywhere || news_.cancelled || news_.control || news_.hints_lost ||
         !news_.hints.empty();
}

// As much as fits. Names that do not fit are summed up; hints that do not fit wait for the next message.
HeraldMessage Herald::take_message() {
  HeraldMessage message = std::exchange(news_, {});
  message.from = self_;
  std::size_t room = kMaxBulletinBytes - herald_frame_bytes(self_);
  std::size_t names = 0;
  for (const std::string& queue : ready_) names += herald_item_bytes(queue);
  if (names > room) {
    message.ready_anywhere = true;
  } else {
    room -= names;
    message.ready.assign(ready_.begin(), ready_.end());
  }
  ready_.clear();

  auto next = message.hints.begin();
  for (; next != message.hints.end() && herald_item_bytes(*next) <= room; ++next) room -= herald_item_bytes(*next);
  news_.hints.assign(std::make_move_iterator(next), std::make_move_iterator(message.hints.end()));
  message.hints.erase(next, message.hints.end());
  return message;
}

bool Herald::send() {
  HeraldMessage message;
  {
    const std::lock_guard lock(mutex_);
    if (!has_news()) return true;
    message = take_message();
  }
  if (bulletin_ == nullptr) return true;
  const auto told = bulletin_->tell(format_herald_message(message));
  if (told.ok()) return true;
  log_.debug("cannot tell the other nodes", {{"reason", told.error().message}});
  const std::lock_guard lock(mutex_);
  news_.hints_lost = news_.hints_lost || message.hints_lost || !message.hints.empty();
  return false;
}

bool Herald::has_more() {
  const std::lock_guard lock(mutex_);
  return has_news();
}

MonotonicTime Herald::run_once(MonotonicTime now) {
  if (now >= next_send_) next_send_ = now + (send() ? options_.interval : options_.retry);
  return has_more() ? next_send_ : now + kUntilWoken;
}

void Herald::send_all() {
  while (has_more() && send()) {
  }
}

}  // namespace horae
