// Takes records from the source into the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log_rate_limiter.h"
#include "engine/loop.h"
#include "engine/relay/firing.h"
#include "engine/relay/relay_context.h"
#include "engine/relay/source.h"
#include "engine/relay/turn.h"
#include "store/message_store.h"

namespace horae {

// A record is done, so that its offset may be committed, when it is stored, or known to be there, or published and
// acknowledged because it is late, or dead-lettered, or dropped as no message. Until then it is pending, in memory.
//
//   stored        one batch, one commit; what is due within the horizon is readied for this node by the same commit
//   late          published at once, with the others of its batch; if that fails, the store is asked again
//   late, and the output refuses it for good: dead-lettered; if there are no dead letters or they refuse it too, stored
//   firing        its id is about to be fired, or just was: the store is asked again until the row is gone
//   no message    logged, counted, dead-lettered if there is a sink for that
//
// It takes nothing while it has too much pending, while the output is stalled, or while overdue messages wait: the
// backlog stays in the source. Records of partitions that this node has lost are forgotten: another node reads them.
//
// run_once() from one thread at a time; everything else is thread-safe.
class Intake final : public Loop, private DeliveryTaker {
 public:
  // All must outlive the loop.
  Intake(RelayContext& context, Source& source, Firing& firing, Turn& turn)
      : context_(context), source_(source), firing_(firing), turn_(turn) {}

  // From now on nothing is taken, and records that would have to be asked again are left for the next reader. Cannot be
  // undone.
  void drain();

  // True if it is draining, and no publish of a record is under way.
  bool is_drained() const;

  std::size_t pending() const;

  std::string_view name() const override { return "relay intake"; }
  MonotonicTime run_once(MonotonicTime now) override;

 private:
  using Number = std::uint64_t;  // of a record, in the order in which they were taken

  // What happens to a pending record next.
  enum class Step {
    kAsk,        // enqueue(), or the dead letters if it is no message, at `ask_at`
    kPublish,    // it was handed to the output, because it is late
    kDeadLetter  // it was handed to the dead letters
  };
  struct Pending {
    RecordDone record;
    NewMessage message;                    // if it is one
    std::optional<SourceRecord> bad = {};  // if it is none, as it came
    std::string fault = {};                // why it has to be dead-lettered
    bool is_bad = false;                   // it is no message, or one that no store takes
    std::size_t bytes = 0;
    Step step = Step::kAsk;
    MonotonicTime ask_at = {};
    int failures = 0;             // of its publish
    bool must_be_stored = false;  // late, and refused by the output
  };
  // What arrived from other threads.
  struct Arrived {
    Number number = 0;
    Delivery delivery;
    bool is_letter = false;
  };

  void on_deliveries(std::span<const Delivery> deliveries, MonotonicTime now) override;

  void handle_arrived(MonotonicTime now);
  void handle_letter(Number number, Pending& pending, const Delivery& delivery, MonotonicTime now);
  void handle_late(Number number, Pending& pending, const Delivery& delivery, MonotonicTime now);

  bool is_open(MonotonicTime now);
  void take(MonotonicTime now);
  void take_message(SourceRecord record, MonotonicTime now);
  void take_bad(SourceRecord record, const Error& error, MonotonicTime now);
  void dead_letter(Number number, Pending& pending, MonotonicTime now);

  std::vector<Number> due_to_ask(MonotonicTime now, bool must_be_stored);
  bool ask(MonotonicTime now, bool must_be_stored);  // false if the store failed
  bool ask_for(const std::vector<Number>& numbers, bool must_be_stored, MonotonicTime now);
  Result<EnqueueOutcome> enqueue(const std::vector<Number>& numbers, bool must_be_stored, MonotonicTime now);
  void refuse(Number number, const Error& error, MonotonicTime now);
  void apply(const std::vector<Number>& numbers, const EnqueueOutcome& outcome, MonotonicTime now);
  void publish_late(const std::vector<Number>& numbers, MonotonicTime now);

  Pending& add(SourceRecord& record, MonotonicTime now);
  void hand_over(Number number, Pending& pending, Step step);  // to the output or the dead letters
  void ask_again(Number number, Pending& pending, MonotonicTime when);
  Duration back_off(Pending& pending) const;
  void finish(Number number);  // done
  void drop(Number number);    // not done
  void pass_on_done();
  MonotonicTime next_run(MonotonicTime now) const;

  RelayContext& context_;
  Source& source_;
  Firing& firing_;
  Turn& turn_;

  mutable std::mutex mutex_;
  std::vector<Arrived> arrived_;   // guarded by mutex_
  bool is_draining_ = false;       // guarded by mutex_
  std::size_t handed_over_ = 0;    // guarded by mutex_; records whose step is not kAsk
  std::size_t pending_count_ = 0;  // guarded by mutex_

  // Used by run_once() only.
  std::map<Number, Pending> pending_;
  std::set<std::pair<MonotonicTime, Number>> asking_;
  std::vector<RecordDone> done_;
  Number last_number_ = 0;
  std::size_t bytes_ = 0;
  bool was_full_ = false;   // the last batch
  int store_failures_ = 0;  // in a row
  MonotonicTime next_batch_ = MonotonicTime::min();
  LogRateLimiter log_limit_{10};
};

}  // namespace horae
