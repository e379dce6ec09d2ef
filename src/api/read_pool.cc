#include "api/read_pool.h"

namespace horae {

void ReadPool::start() {
  for (int i = 0; i < thread_count_; ++i) {
    threads_.emplace_back([this] {
      while (const auto work = queue_.pop()) (*work)();
    });
  }
}

void ReadPool::stop() {
  queue_.close();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  threads_.clear();
}

}  // namespace horae
