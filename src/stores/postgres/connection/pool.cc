#include "stores/postgres/connection/pool.h"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace horae::postgres {
namespace {

constexpr int kMostAttempts = 10;
constexpr int kMostLosses = 2;
constexpr int kMostPauseMilliseconds = 50;

}  // namespace

// A connection that died while it was idle is noticed here, before anything is sent on it.
Result<Pool::Pooled> Pool::borrow() {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [this] { return free_places_ > 0; });
  --free_places_;
  while (!idle_.empty()) {
    Pooled lent = std::move(idle_.back());
    idle_.pop_back();
    lock.unlock();
    if (lent.connection->usable()) {
      ++begun_;
      return lent;
    }
    lent.connection.reset();
    lock.lock();
  }
  Pooled lent{.connection = nullptr, .generation = generation_};
  lock.unlock();
  auto made = make();
  if (!made.ok()) {
    give_back(std::move(lent));
    return made.error();
  }
  lent.connection = std::move(*made);
  ++begun_;
  return lent;
}

Result<std::unique_ptr<Connection>> Pool::make() {
  auto opened = Connection::open(url_, options_.answer_timeout);
  if (!opened.ok()) return opened;
  if (options_.check) {
    if (auto checked = options_.check(**opened); !checked.ok()) return checked.error();
  }
  if (options_.before_commit) (*opened)->set_before_commit(options_.before_commit);
  return opened;
}

void Pool::give_back(Pooled lent) {
  std::vector<Pooled> old;  // hang up without the mutex
  // Most likely the others lead to the old database, or nowhere, as well.
  const bool spoils_others = lent.connection && (lent.connection->database_changed() || lent.connection->timed_out());
  if (lent.connection && !lent.connection->usable()) lent.connection.reset();
  {
    const std::lock_guard lock(mutex_);
    ++free_places_;
    const bool is_current = lent.generation == generation_;
    if (spoils_others && is_current) old.swap(idle_);
    if (lent.connection && is_current) idle_.push_back(std::move(lent));
  }
  freed_.notify_one();
}

void Pool::renew() {
  std::vector<Pooled> old;  // hang up without the mutex
  const std::lock_guard lock(mutex_);
  ++generation_;
  old.swap(idle_);
}

bool Pool::may_repeat(const Failure& failure, Attempts& attempts, Repeat repeat) {
  ++attempts.count;
  const bool is_harmless = repeat == Repeat::kAlways || !failure.commit_sent;
  if (failure.lost) return is_harmless && ++attempts.lost < kMostLosses;
  return failure.transient() && attempts.count < kMostAttempts;
}

void Pool::pause(const Attempts& attempts) {
  const int most = std::min(kMostPauseMilliseconds, 1 << attempts.count);
  poll(nullptr, 0, static_cast<int>(random_.below(static_cast<std::uint64_t>(most))));
}

}  // namespace horae::postgres
