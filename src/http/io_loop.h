// One thread of the server and its connections. Private to the server.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/log.h"

namespace horae {

class Connection;

// Each connection belongs to one loop for life, so its state needs no lock.
class IoLoop {
 public:
  explicit IoLoop(Logger log) : log_(std::move(log)) {}

  boost::asio::io_context& context() { return context_; }
  std::unordered_set<std::shared_ptr<Connection>>& connections() { return connections_; }  // by the loop's thread only

  // Connections of strangers, the oldest first; by the loop's thread only.
  std::list<Connection*>& strangers() { return strangers_; }

  void start() {
    thread_ = std::thread([this] {
      id_ = std::this_thread::get_id();
      while (!has_run_to_the_end()) {
      }
    });
  }

  // Calls `work` on the loop's thread. False, and never called, after end().
  template <typename Work>
  bool post(Work work) {
    const std::lock_guard lock(mutex_);
    if (ended_) return false;
    boost::asio::post(context_, std::move(work));
    return true;
  }

  // The read buffer shared by the loop's connections, so that a waiting connection needs none. Its contents are lost
  // when a callback returns.
  std::span<char> scratch() { return scratch_; }

  bool is_here() const { return id_ == std::this_thread::get_id(); }

  // Runs what was posted, then ends the thread. Requires that the loop has no connections left.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    work_.reset();
    if (thread_.joinable()) thread_.join();
    id_ = std::thread::id();
  }

 private:
  // The boundary for exceptions of Asio and Beast (most likely out of memory). The connection in which one is thrown is
  // closed by the next sweep.
  bool has_run_to_the_end() {
    try {
      context_.run();
      return true;
    } catch (const std::exception& thrown) {
      log_.error("a connection failed", {{"reason", thrown.what()}});
      return false;
    }
  }

  static constexpr std::size_t kScratchBytes = 16 << 10;

  const Logger log_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{context_.get_executor()};
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  std::list<Connection*> strangers_;
  std::vector<char> scratch_ = std::vector<char>(kScratchBytes);
  std::mutex mutex_;
  bool ended_ = false;  // guarded by mutex_
  std::atomic<std::thread::id> id_;
  std::thread thread_;
};

}  // namespace horae
