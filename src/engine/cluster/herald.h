// Tells the other nodes what happened on this one.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "engine/cluster/herald_message.h"
#include "engine/loop.h"
#include "store/cluster_store.h"

namespace horae {

struct HeraldOptions {
  Duration interval = std::chrono::milliseconds(5);  // between two messages, in which the next one gathers
  Duration retry = std::chrono::seconds(1);          // after a message that could not be sent
  std::size_t max_hints = 1'000;                     // that may wait; beyond, they are lost, and the others told so
};

// The first news go at once, and those of the next moments together. While there are no other nodes nothing is gathered
// and nothing sent. All of it are hints: what is lost is found by the Lookout of the others, but for hints to readers
// of events, of which the next message says that they are lost.
//
// Threads: run_once() and send_all() one at a time; all else from any thread at once.
class Herald final : public Loop {
 public:
  // `self` is the id of this node. `wake` has run_once() called soon.
  Herald(std::string self, Logger log, std::function<void()> wake, HeraldOptions options = {})
      : self_(std::move(self)), log_(std::move(log)), wake_(std::move(wake)), options_(options) {}

  // By whom it tells; nobody at first. It must outlive what is sent, or be taken back: nullptr. While run_once() is not
  // under way.
  void set_bulletin(Bulletin* bulletin) { bulletin_ = bulletin; }

  // How many others there are, and whether one of them wants hints.
  void set_peers(std::size_t peers, bool want_hints);

  void ready(const std::vector<std::string>& queues);
  void ready_anywhere();
  void cancelled();
  void control();

  // Something for those who read events elsewhere: UTF-8 without NUL, of any meaning. What does not fit into a message
  // is lost.
  void hint(std::string text);

  // Something may have happened that was no hint, because nobody wanted it.
  void hints_lost();

  std::string_view name() const override { return "herald"; }
  MonotonicTime run_once(MonotonicTime now) override;

  // The node is about to stop: sends what has gathered, as long as that works.
  void send_all();

 private:
  // Notes something by `note`, if there are others, and wakes the loop if it was idle.
  template <typename Note>
  void gather(Note note);

  bool has_more();
  bool has_news() const;         // with mutex_ held
  HeraldMessage take_message();  // with mutex_ held
  bool send();                   // false if it could not be told

  const std::string self_;
  Logger log_;
  const std::function<void()> wake_;
  const HeraldOptions options_;
  Bulletin* bulletin_ = nullptr;  // used by run_once() only
  MonotonicTime next_send_;       // used by run_once() only

  std::mutex mutex_;
  std::size_t peers_ = 0;        // guarded by mutex_
  bool want_hints_ = false;      // guarded by mutex_
  std::set<std::string> ready_;  // guarded by mutex_
  HeraldMessage news_;           // guarded by mutex_; all but the queues, which are in ready_
};

}  // namespace horae
