// Group commit: concurrent small calls become one batch for the store.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/result.h"
#include "store/lease.h"
#include "store/submission.h"
#include "store/task_store.h"

namespace horae {

struct CombinerOptions {
  std::size_t max_pending = 10'000;   // items taken and not yet answered, of all kinds together
  std::size_t max_batch = kMaxBatch;  // items of one store call, and tasks that the claims of one call may lease
};

// The store locks each token of a wish with `once` for the time of a claim. Bounds the locks of one claim.
inline constexpr std::size_t kMaxOnceInAClaim = 100;

// What became of the parts of a Combiner::exchange().
struct Exchanged {
  std::vector<Result<SettleOutcome>> settled;  // one for each settlement, in order
  Result<ClaimOutcome> leased = ClaimOutcome();
};

// Batches calls to a TaskStore. A commit to disk costs the same for one item as for hundreds, so while one
// commit is under way, arriving calls gather, and the next commit takes them all.
//
// Callers that were answered together often call again together. So after a round of many items the next round waits a
// moment for those that have not called yet, rather than commit for the first of them alone.
//
// Rounds follow one another, on a thread of the combiner (start()) or driven by its owner (open()). A round takes what
// has arrived, of each kind up to max_batch items in the order of arrival; the rest is for the next round. Settles, submits and claims that wait together share one commit
// (TaskStore::exchange()). With cancels, which are rare, each kind has a store call of its own: settles first, because
// they end what running tasks hold; then submits and cancels; claims last, so that they see the newest tasks and none
// that was just cancelled. The claims of one round are for at most max_batch tasks together (a single claim always
// fits) and have at most kMaxOnceInAClaim tokens, because they are one transaction, which delays all other calls.
//
// Answers: each call is answered exactly once, after the store has made it durable, or by an error:
//   kUnavailable  the store was away, and the outcome is unknown for all items of that store call: repeat with the same
//                 ids and tokens. Or this combiner is not running (stopping, stopped, never started); nothing was done.
//   kOverLimit    max_pending would be passed; nothing was done.
//   any other     the store refused this item; nothing was done. A store refuses a whole batch for one bad
//                 item, so a refused batch is halved until that item is alone; the other items are not affected. This
//                 costs some twenty store calls for an item in a thousand: check items first (check_new_task(), ...).
//
// Order: a call that is made after another was answered comes after it. Settlements are taken in the order of their calls,
// also those of one attempt, which may share a store call: a store takes its items one after the other. Nothing else is promised for calls that are under way together;
// submissions that share an id or a key may well meet in one store call, which answers them one by one.
//
// A batch of a caller is several items with one answer: they may share store calls with the items of other callers, or
// be split over several store calls, and each has its own outcome, in the order of the items.
//
// Thread-safe; the destructor must run after all other calls have returned.
// Callbacks run on the thread of the rounds, or before the call returns on the caller's if it is refused at once (not
// running, over the limit, no items). No lock of the combiner is held. All calls wait while a callback runs, so it must
// hand on its work and return; it may make calls with callbacks, but not blocking ones, and must not throw.
//
// A crash loses calls that were not answered, or their answers.
class Combiner {
 public:
  template <typename Outcome>
  using Done = std::function<void(Result<Outcome>)>;
  template <typename Outcome>
  using AllDone = std::function<void(std::vector<Result<Outcome>>)>;

  // The store outlives the combiner. max_pending and max_batch are above 0, max_batch at most kMaxBatch.
  explicit Combiner(TaskStore& store, CombinerOptions options = {});
  ~Combiner();
  Combiner(const Combiner&) = delete;
  Combiner& operator=(const Combiner&) = delete;

  // Takes calls from now on, and runs rounds on a thread of its own. Not while it runs; after a stop() it may start again.
  void start();

  // Takes calls from now on; the caller runs the rounds. `wake` has run_round() called soon; it is called with no lock
  // held, by any thread, and must return soon. Not while it runs. If the combiner is destroyed without a stop(), what was
  // taken is dropped, as by a crash.
  void open(std::function<void()> wake);

  // One round of what has arrived. False if there was nothing to do. After open(), by one thread at a time.
  bool run_round();

  // Refuses new calls, waits until all that were taken are answered, and ends; after open(), it runs the last rounds
  // itself. May be called more than once, also by several threads, but not by a callback.
  void stop();

  void submit(Submission submission, Done<SubmitOutcome> done);
  void settle(Settlement settlement, Done<SettleOutcome> done);
  void cancel(CancelWish wish, Done<CancelOutcome> done);
  void claim(ClaimWish wish, Done<ClaimOutcome> done);

  void submit(std::vector<Submission> submissions, AllDone<SubmitOutcome> done);
  void settle(std::vector<Settlement> settlements, AllDone<SettleOutcome> done);
  void cancel(std::vector<CancelWish> wishes, AllDone<CancelOutcome> done);
  void claim(std::vector<ClaimWish> wishes, AllDone<ClaimOutcome> done);

  // Settlements and a claim that arrive together, and get one answer when both have theirs. They share a commit unless
  // one of them has to wait for a later round because the batch is full. Each has its own outcome: a claim that fails
  // loses no settlement.
  void exchange(std::vector<Settlement> settlements, ClaimWish wish, std::function<void(Exchanged)> done);

  // The same, waiting for the answer.
  Result<SubmitOutcome> submit(Submission submission);
  Result<SettleOutcome> settle(Settlement settlement);
  Result<CancelOutcome> cancel(CancelWish wish);
  Result<ClaimOutcome> claim(ClaimWish wish);

  std::vector<Result<SubmitOutcome>> submit(std::vector<Submission> submissions);
  std::vector<Result<SettleOutcome>> settle(std::vector<Settlement> settlements);
  std::vector<Result<CancelOutcome>> cancel(std::vector<CancelWish> wishes);
  std::vector<Result<ClaimOutcome>> claim(std::vector<ClaimWish> wishes);

 private:
  // One call of a caller, shared by its items. Once taken, only the combiner's thread touches it.
  template <typename Outcome>
  struct Call {
    std::vector<Result<Outcome>> outcomes;  // those of `missing` items are still to come
    std::size_t missing;
    AllDone<Outcome> done;
  };

  // The place of the outcome of one item.
  template <typename Outcome>
  struct Reply {
    std::shared_ptr<Call<Outcome>> call;
    std::size_t place;
  };

  template <typename ItemType, typename OutcomeType>
  struct Entry {
    using Item = ItemType;
    using Outcome = OutcomeType;
    Item item;
    Reply<Outcome> reply;
  };

  template <typename Item, typename Outcome>
  using Line = std::deque<Entry<Item, Outcome>>;

  // The items of one store call, and the places of their outcomes.
  template <typename Item, typename Outcome>
  struct Batch {
    std::vector<Item> items;
    std::vector<Reply<Outcome>> replies;
  };

  struct Lines {
    Line<Settlement, SettleOutcome> settles;
    Line<Submission, SubmitOutcome> submits;
    Line<CancelWish, CancelOutcome> cancels;
    Line<ClaimWish, ClaimOutcome> claims;

    bool empty() const { return settles.empty() && submits.empty() && cancels.empty() && claims.empty(); }
  };

  template <typename Outcome>
  static std::shared_ptr<Call<Outcome>> new_call(std::size_t count, AllDone<Outcome> done);
  template <typename LineType>
  void push(LineType Lines::*kind, std::vector<typename LineType::value_type::Item> items,
            const std::shared_ptr<Call<typename LineType::value_type::Outcome>>& call);  // with mutex_ held
  template <typename LineType>
  void enqueue(LineType Lines::*kind, std::vector<typename LineType::value_type::Item> items,
               AllDone<typename LineType::value_type::Outcome> done);
  template <typename LineType>
  void enqueue_one(LineType Lines::*kind, typename LineType::value_type::Item item,
                   Done<typename LineType::value_type::Outcome> done);
  template <typename LineType>
  auto call_and_wait(LineType Lines::*kind, std::vector<typename LineType::value_type::Item> items);
  Result<void> admit(std::size_t count) const;  // with mutex_ held

  void accept(std::function<void()> wake);
  void run();
  bool wait_for_work();
  void wait_for_the_crowd(std::unique_lock<std::mutex>& lock);
  void begin_round();
  template <typename LineType>
  LineType& gather(LineType Lines::*kind);
  template <typename LineType, typename Rule>
  auto take(LineType Lines::*kind, Rule rule);
  auto take_settles();
  auto take_submits();
  auto take_claims();
  void commit_each();
  bool is_for_exchange();
  void exchange();
  template <typename BatchType, typename StoreCall>
  void commit(BatchType batch, const StoreCall& store_call);
  template <typename Item, typename Outcome, typename StoreCall>
  void commit(std::span<const Item> items, std::span<Reply<Outcome>> replies, const StoreCall& store_call);
  template <typename Outcome>
  void answer(std::span<Reply<Outcome>> replies, Result<std::vector<Outcome>> outcomes);

  TaskStore& store_;
  const CombinerOptions options_;

  std::mutex mutex_;
  std::condition_variable has_work_;
  std::function<void()> wake_;  // guarded by mutex_; called without it
  bool running_ = false;        // guarded by mutex_; between start() or open() and stop()
  std::size_t pending_ = 0;     // guarded by mutex_; items taken and not yet answered
  Lines arrived_;               // guarded by mutex_

  Lines waiting_;               // of the rounds alone; taken over from arrived_, older than what is there
  std::size_t last_round_ = 0;  // of the rounds alone; items that were pending when it began

  std::mutex life_mutex_;  // held by start() and stop() alone, also while one waits for the thread's end
  std::thread thread_;     // guarded by life_mutex_
};

}  // namespace horae
