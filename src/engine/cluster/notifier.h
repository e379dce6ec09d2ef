// Sends the other nodes what happened at this one.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "base/log.h"
#include "engine/cluster/peer_message.h"
#include "engine/loop.h"
#include "store/cluster_store.h"

namespace horae {

struct NotifierOptions {
  Duration interval = std::chrono::milliseconds(5);  // between two messages, in which the next one gathers
  Duration retry = std::chrono::seconds(1);          // after a message that could not be sent
  std::size_t max_events = 1'000;                    // that may wait; more are lost, and the next message says so
};

// The first news are sent at once, and those of the following moments together. While there are no other nodes, nothing
// is gathered and nothing sent. Any message may be lost: a lost wake-up is made up for by the ClusterPoller of each
// node; after lost events, the next message says that some are missing.
//
// run_once() and send_all() from one thread at a time; everything else is thread-safe.
class Notifier final : public Loop {
 public:
  // `self` is the id of this node. `wake` has run_once() called soon.
  Notifier(std::string self, Logger log, std::function<void()> wake, NotifierOptions options = {})
      : self_(std::move(self)), log_(std::move(log)), wake_(std::move(wake)), options_(options) {}

  // Where messages go; null at first: they are dropped. It must outlive run_once() and send_all(), or be replaced by
  // null before. Not while run_once() is under way.
  void set_bulletin(Bulletin* bulletin) { bulletin_ = bulletin; }

  // The number of other nodes, and whether one of them wants events.
  void set_peers(std::size_t peers, bool want_events);

  // The same loops of the other nodes have work. WakeUps::scheduled is not sent: every node polls for due tasks.
  void wake_peers(const WakeUps& wake_ups);

  // An event for readers at other nodes: UTF-8 without NUL, of any meaning. What does not fit into a message is lost.
  void send_event(std::string text);

  // Events may have been missed because no node wanted them when they happened.
  void send_event_loss();

  std::string_view name() const override { return "notifier"; }
  MonotonicTime run_once(MonotonicTime now) override;

  // Before the node stops: sends what has gathered, until it is empty or a message fails.
  void send_all();

 private:
  // Calls `note`, which adds to the news, unless there are no other nodes; and wakes the loop if it was idle.
  template <typename Note>
  void gather(Note note);

  bool has_more();
  bool has_news() const;       // with mutex_ held
  PeerMessage take_message();  // with mutex_ held
  bool send();                 // false if the message failed

  const std::string self_;
  Logger log_;
  const std::function<void()> wake_;
  const NotifierOptions options_;
  Bulletin* bulletin_ = nullptr;  // used by run_once() only
  MonotonicTime next_send_;       // used by run_once() only

  std::mutex mutex_;
  std::size_t peers_ = 0;         // guarded by mutex_
  bool want_events_ = false;      // guarded by mutex_
  std::set<std::string> ready_;   // guarded by mutex_
  std::set<std::string> owners_;  // guarded by mutex_; of tasks that were cancelled
  PeerMessage news_;              // guarded by mutex_; without the queues and owners
};

}  // namespace horae
