#include "stores/postgres/pool.h"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace horae::postgres {
namespace {

constexpr int kMostAttempts = 10;
constexpr int kMostLosses = 2;
constexpr int kMostPauseMilliseconds = 50;

}  // namespace

// A connection that died while nobody used it is noticed here, before anything is sent on it.
Result<std::unique_ptr<Connection>> Pool::borrow() {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [this] { return free_places_ > 0; });
  --free_places_;
  while (!idle_.empty()) {
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    lock.unlock();
    if (connection->usable()) return connection;
    connection.reset();
    lock.lock();
  }
  lock.unlock();
  auto made = make();
  if (!made.ok()) give_back(nullptr);
  return made;
}

Result<std::unique_ptr<Connection>> Pool::make() {
  auto opened = Connection::open(url_);
  if (!opened.ok()) return opened;
  if (options_.check) {
    if (auto checked = options_.check(**opened); !checked.ok()) return checked.error();
  }
  if (options_.before_commit) (*opened)->set_before_commit(options_.before_commit);
  return opened;
}

void Pool::give_back(std::unique_ptr<Connection> connection) {
  if (connection && !connection->usable()) connection.reset();
  {
    const std::lock_guard lock(mutex_);
    ++free_places_;
    if (connection) idle_.push_back(std::move(connection));
  }
  freed_.notify_one();
}

bool Pool::may_repeat(const Failure& failure, Attempts& attempts) {
  ++attempts.count;
  if (failure.lost) return !failure.commit_sent && ++attempts.lost < kMostLosses;
  return failure.transient() && attempts.count < kMostAttempts;
}

void Pool::pause(const Attempts& attempts) {
  const int most = std::min(kMostPauseMilliseconds, 1 << attempts.count);
  poll(nullptr, 0, static_cast<int>(random_.below(static_cast<std::uint64_t>(most))));
}

}  // namespace horae::postgres
