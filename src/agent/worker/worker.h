// What an agent does between the nodes and its executors: it claims tasks, holds their attempts by heartbeats, and reports
// how they ended.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/journal/journal.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/uuid.h"
#include "engine/slots/executor.h"
#include "sdk/node_link.h"
#include "sdk/worker_wire.h"

namespace horae::agent {

struct WorkerOptions {
  std::vector<std::string> queues;
  int slots = 8;
  Duration lease = kDefaultLease;
  Duration wait = std::chrono::seconds(5);       // of a claim for tasks; bounds how long an idle agent needs to stop
  Duration grace = std::chrono::seconds(10);     // for runs to end when the agent stops
  std::optional<Duration> contact_timeout = {};  // stop without contact to a node for so long; nothing: go on for ever
};

enum class WorkerExit { kDrained, kLostContact };

// Two threads drive it: claim_once() waits for work at a node, report_once() sends heartbeats and ends. Each returns when it
// wants to be called next; what is passed as `wake_...` has it called at once.
//
// An attempt is started once: its start is in the journal before, and a claim that is answered twice changes nothing. An
// end is in the journal before it is sent, and until a node has answered with a verdict. If a heartbeat says that the lease
// is lost or the task cancelled, the run is stopped and nothing is settled.
//
// Thread-safe.
class Worker {
 public:
  struct Parts {
    NodeCalls& claims;   // of claim_once()
    NodeCalls& reports;  // of report_once()
    Executor& executor;
    Journal& journal;
    const Clock& clock;
    UuidSource& ids;
    Random& random;
    Logger log;
    std::function<MonotonicTime()> last_contact;
    std::function<void()> wake_claims;
    std::function<void()> wake_reports;
    std::function<void(WorkerExit)> on_exit;  // called once, by report_once()
  };

  // What the journal has of earlier agents is reported first, under their owners: results as they are; attempts that were
  // running are given up, so that they soon run elsewhere.
  Worker(WorkerOptions options, std::string owner, Parts parts);

  MonotonicTime claim_once(MonotonicTime now);
  MonotonicTime report_once(MonotonicTime now);

  // Claims no more, lets runs end, stops them after a part of the grace time, and exits when all is reported.
  void drain();

 private:
  struct Held {
    LeasedTask task;
    MonotonicTime next_beat;
    std::optional<double> progress = {};
    std::optional<std::string> checkpoint = {};  // that no node has acknowledged yet
    bool is_lost = false;                        // by the verdict of a heartbeat: nothing is settled
    bool is_stopped = false;                     // because the agent stops
  };

  // What is to be settled once for an attempt.
  struct Ending {
    AttemptKey key;
    std::string settlement;  // empty: nothing; it is only over
    bool is_in_journal = false;
    bool is_refusal = false;  // reports that the node found the end itself wrong
  };

  struct Beat {
    ChoreId run = 0;
    std::string settlement;
    std::optional<std::string> checkpoint;
  };

  AttemptKey key_of(const LeasedTask& task) const { return {.owner = owner_, .id = task.id, .attempt = task.attempt}; }
  Settlement settlement_of(const LeasedTask& task, Event event) const;
  std::string give_up_json(const AttemptKey& key) const;

  // Claims.
  int free_places() const;  // with mutex_ held
  bool can_journal();
  void take(ClaimAnswer answer);
  std::vector<LeasedTask> new_among(std::vector<LeasedTask> tasks);
  void release(const AttemptKey& key);
  void start(LeasedTask task);
  void on_end(ChoreId run, RunEnd end);
  Ending ending_of(Held held, RunEnd end) const;

  // Reports.
  void collect_endings();
  std::vector<Beat> due_beats(MonotonicTime now);
  bool send(const std::vector<Beat>& beats, std::size_t endings);
  void note_beat(const Beat& beat, const SettleAnswer& answer);
  bool note_ending(Ending& ending, const SettleAnswer& answer);  // true if it is over
  void stop_runs_when_due(MonotonicTime now);
  bool has_exited(MonotonicTime now);
  MonotonicTime next_report(MonotonicTime now) const;
  bool write(std::span<const JournalRecord> records);

  const WorkerOptions options_;
  const std::string owner_;
  Parts parts_;

  // Of claim_once() alone.
  std::optional<ClaimWish> claim_;  // whose answer is still missing
  int claim_tries_ = 0;
  Backoff claim_backoff_;

  // Of report_once() alone.
  std::deque<Ending> sending_;
  Backoff report_backoff_;
  bool has_called_exit_ = false;
  bool has_stopped_runs_ = false;

  std::mutex journal_mutex_;  // guards parts_.journal
  std::atomic<bool> is_journal_full_ = false;

  mutable std::mutex mutex_;
  std::map<ChoreId, Held> held_;                      // guarded by mutex_
  std::vector<Ending> endings_;                       // guarded by mutex_; since the last report
  std::size_t unsettled_ = 0;                         // guarded by mutex_; of endings_ and sending_
  std::set<std::pair<TaskId, int>> seen_;             // guarded by mutex_; attempts that were started here
  std::deque<std::pair<TaskId, int>> seen_in_order_;  // guarded by mutex_
  ChoreId last_run_ = 0;                              // guarded by mutex_
  std::optional<MonotonicTime> drains_since_;         // guarded by mutex_
  bool claims_have_ended_ = false;                    // guarded by mutex_
};

}  // namespace horae::agent
