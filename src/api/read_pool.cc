#include "api/read_pool.h"

#include <algorithm>
#include <utility>

namespace horae {

void ReadPool::start() {
  for (int i = 0; i < thread_count_; ++i) {
    threads_.emplace_back([this] {
      while (const auto work = next()) (*work)();
    });
  }
}

void ReadPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  threads_.clear();
}

bool ReadPool::try_run(std::string_view caller, Work work) {
  const std::size_t most = caller.empty() ? max_waiting_ : std::max<std::size_t>(1, max_waiting_ / 4);
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || waiting_ >= max_waiting_) return false;
    auto line = lines_.find(caller);
    if (line == lines_.end()) {
      line = lines_.emplace(caller, std::deque<Work>()).first;
      turns_.push_back(line);
    }
    if (line->second.size() >= most) return false;
    line->second.push_back(std::move(work));
    ++waiting_;
  }
  changed_.notify_one();
  return true;
}

// Nothing once the pool is closed and nothing waits.
std::optional<ReadPool::Work> ReadPool::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_closed_ || waiting_ > 0; });
  if (waiting_ == 0) return std::nullopt;
  const auto line = turns_.front();
  turns_.pop_front();
  Work work = std::move(line->second.front());
  line->second.pop_front();
  --waiting_;
  if (line->second.empty()) {
    lines_.erase(line);
  } else {
    turns_.push_back(line);
  }
  return work;
}

}  // namespace horae
