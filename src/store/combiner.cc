#include "store/combiner.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/mutant.h"
#include "base/waker.h"
#include "store/combiner_rules.h"

namespace horae {
namespace {

// From how many callers on a moment is worth waiting for the rest of them: much shorter than a commit, and longer than
// most need to come again.
constexpr std::size_t kCrowd = 16;
constexpr std::chrono::microseconds kMoment(100);

// What a combiner would say that does not wait for the store.
std::vector<SubmitOutcome> made_up(const std::vector<Submission>& submissions) {
  std::vector<SubmitOutcome> outcomes;
  for (const Submission& each : submissions) outcomes.push_back({.id = each.id()});
  return outcomes;
}

// Whose round this thread runs, if any.
thread_local const Combiner* own_combiner = nullptr;

// Marks the time of a round on the thread that runs it, also if the round is unwound by an exception (of a simulator).
class InRound {
 public:
  explicit InRound(const Combiner* combiner) : outer_(std::exchange(own_combiner, combiner)) {}
  ~InRound() { own_combiner = outer_; }
  InRound(const InRound&) = delete;
  InRound& operator=(const InRound&) = delete;

 private:
  const Combiner* outer_;
};

// An answer for which a thread waits.
template <typename Value>
class Awaited {
 public:
  // Notifies with the lock held, because the waiter destroys this object as soon as it can go on.
  void set(Value value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
    is_set_.notify_one();
  }

  Value wait() {
    std::unique_lock lock(mutex_);
    is_set_.wait(lock, [this] { return value_.has_value(); });
    return std::move(*value_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable is_set_;
  std::optional<Value> value_;  // guarded by mutex_
};

template <typename T>
std::vector<T> one(T item) {
  std::vector<T> items;
  items.push_back(std::move(item));
  return items;
}

}  // namespace

Combiner::Combiner(TaskStore& store, CombinerOptions options) : store_(store), options_(options) {
  HORAE_CHECK(options.max_pending > 0, "a combiner has room for at least one item");
  HORAE_CHECK(options.max_batch > 0 && options.max_batch <= kMaxBatch, "a batch is one that a store takes");
}

Combiner::~Combiner() {
  if (thread_.joinable()) stop();
}

void Combiner::start() {
  const std::lock_guard life(life_mutex_);
  accept([this] { has_work_.notify_one(); });
  thread_ = std::thread([this] { run(); });
}

void Combiner::open(std::function<void()> wake) {
  const std::lock_guard life(life_mutex_);
  accept(std::move(wake));
}

void Combiner::accept(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  HORAE_CHECK(!thread_.joinable() && !running_, "a combiner that runs cannot be started");
  wake_ = std::move(wake);
  running_ = true;
}

void Combiner::stop() {
  HORAE_CHECK(own_combiner != this, "a callback that stops the combiner would wait for itself");
  const std::lock_guard life(life_mutex_);
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
  }
  has_work_.notify_one();
  if (thread_.joinable()) return thread_.join();
  while (run_round()) {
  }
}

// ---- Taking calls ----

Result<void> Combiner::admit(std::size_t count) const {
  if (!running_) {
    return Error{ErrorCode::kUnavailable,
                 "this node is starting or stopping: nothing was done; try again later or on another node"};
  }
  if (count > options_.max_pending) {
    return Error{ErrorCode::kRefused,
                 fmt::format("{} items in one call: give at most {}", count, options_.max_pending)};
  }
  if (count > options_.max_pending - pending_) {
    return Error{ErrorCode::kOverLimit,
                 fmt::format("{} items are waiting for the store, which is busy or away, and at most {} may: nothing "
                             "was done; try again later",
                             pending_, options_.max_pending)};
  }
  return {};
}

template <typename Outcome>
std::shared_ptr<Combiner::Call<Outcome>> Combiner::new_call(std::size_t count, AllDone<Outcome> done) {
  const Error unanswered{ErrorCode::kInternal, ""};
  auto call = std::make_shared<Call<Outcome>>();
  call->outcomes.assign(count, unanswered);
  call->missing = count;
  call->done = std::move(done);
  return call;
}

template <typename LineType>
void Combiner::push(LineType Lines::*kind, std::vector<typename LineType::value_type::Item> items,
                    const std::shared_ptr<Call<typename LineType::value_type::Outcome>>& call) {
  pending_ += items.size();
  for (std::size_t place = 0; place < items.size(); ++place) {
    (arrived_.*kind).push_back({std::move(items[place]), {call, place}});
  }
}

template <typename LineType>
void Combiner::enqueue(LineType Lines::*kind, std::vector<typename LineType::value_type::Item> items,
                       AllDone<typename LineType::value_type::Outcome> done) {
  using Outcome = typename LineType::value_type::Outcome;
  if (items.empty()) return done({});
  const std::size_t count = items.size();
  const auto call = new_call<Outcome>(count, std::move(done));

  std::unique_lock lock(mutex_);
  if (const auto admitted = admit(count); !admitted.ok()) {
    lock.unlock();
    return call->done(std::vector<Result<Outcome>>(count, admitted.error()));
  }
  push(kind, std::move(items), call);
  const std::function<void()> wake = wake_;
  lock.unlock();
  wake();
}

template <typename LineType>
void Combiner::enqueue_one(LineType Lines::*kind, typename LineType::value_type::Item item,
                           Done<typename LineType::value_type::Outcome> done) {
  using Outcome = typename LineType::value_type::Outcome;
  enqueue(kind, one(std::move(item)),
          [done = std::move(done)](std::vector<Result<Outcome>> outcomes) { done(std::move(outcomes.front())); });
}

template <typename LineType>
auto Combiner::call_and_wait(LineType Lines::*kind, std::vector<typename LineType::value_type::Item> items) {
  using Outcomes = std::vector<Result<typename LineType::value_type::Outcome>>;
  HORAE_CHECK(own_combiner != this, "a callback that waits for the combiner would wait for itself");
  Awaited<Outcomes> answer;
  enqueue(kind, std::move(items), [&answer](Outcomes outcomes) { answer.set(std::move(outcomes)); });
  return answer.wait();
}

void Combiner::submit(Submission submission, Done<SubmitOutcome> done) {
  enqueue_one(&Lines::submits, std::move(submission), std::move(done));
}
void Combiner::settle(Settlement settlement, Done<SettleOutcome> done) {
  enqueue_one(&Lines::settles, std::move(settlement), std::move(done));
}
void Combiner::cancel(CancelWish wish, Done<CancelOutcome> done) {
  enqueue_one(&Lines::cancels, std::move(wish), std::move(done));
}
void Combiner::claim(ClaimWish wish, Done<ClaimOutcome> done) {
  enqueue_one(&Lines::claims, std::move(wish), std::move(done));
}

void Combiner::submit(std::vector<Submission> submissions, AllDone<SubmitOutcome> done) {
  enqueue(&Lines::submits, std::move(submissions), std::move(done));
}
void Combiner::settle(std::vector<Settlement> settlements, AllDone<SettleOutcome> done) {
  enqueue(&Lines::settles, std::move(settlements), std::move(done));
}
void Combiner::cancel(std::vector<CancelWish> wishes, AllDone<CancelOutcome> done) {
  enqueue(&Lines::cancels, std::move(wishes), std::move(done));
}
void Combiner::claim(std::vector<ClaimWish> wishes, AllDone<ClaimOutcome> done) {
  enqueue(&Lines::claims, std::move(wishes), std::move(done));
}

void Combiner::exchange(std::vector<Settlement> settlements, ClaimWish wish, std::function<void(Exchanged)> done) {
  // Both halves are answered on the combiner's thread, in either order.
  struct Halves {
    Exchanged both;
    int missing = 2;
    std::function<void(Exchanged)> done;
    void end_one() {
      if (--missing == 0) done(std::move(both));
    }
  };
  const auto halves = std::make_shared<Halves>();
  halves->done = std::move(done);
  const std::size_t count = settlements.size();
  const auto settle = new_call<SettleOutcome>(count, [halves](std::vector<Result<SettleOutcome>> outcomes) {
    halves->both.settled = std::move(outcomes);
    halves->end_one();
  });
  const auto claim = new_call<ClaimOutcome>(1, [halves](std::vector<Result<ClaimOutcome>> all) {
    halves->both.leased = std::move(all.front());
    halves->end_one();
  });
  if (count == 0) halves->end_one();

  std::unique_lock lock(mutex_);
  if (const auto admitted = admit(count + 1); !admitted.ok()) {
    lock.unlock();
    return halves->done({std::vector<Result<SettleOutcome>>(count, admitted.error()), admitted.error()});
  }
  push(&Lines::settles, std::move(settlements), settle);
  push(&Lines::claims, one(std::move(wish)), claim);
  const std::function<void()> wake = wake_;
  lock.unlock();
  wake();
}

Result<SubmitOutcome> Combiner::submit(Submission submission) {
  return std::move(call_and_wait(&Lines::submits, one(std::move(submission))).front());
}
Result<SettleOutcome> Combiner::settle(Settlement settlement) {
  return std::move(call_and_wait(&Lines::settles, one(std::move(settlement))).front());
}
Result<CancelOutcome> Combiner::cancel(CancelWish wish) {
  return std::move(call_and_wait(&Lines::cancels, one(std::move(wish))).front());
}
Result<ClaimOutcome> Combiner::claim(ClaimWish wish) {
  return std::move(call_and_wait(&Lines::claims, one(std::move(wish))).front());
}

std::vector<Result<SubmitOutcome>> Combiner::submit(std::vector<Submission> submissions) {
  return call_and_wait(&Lines::submits, std::move(submissions));
}
std::vector<Result<SettleOutcome>> Combiner::settle(std::vector<Settlement> settlements) {
  return call_and_wait(&Lines::settles, std::move(settlements));
}
std::vector<Result<CancelOutcome>> Combiner::cancel(std::vector<CancelWish> wishes) {
  return call_and_wait(&Lines::cancels, std::move(wishes));
}
std::vector<Result<ClaimOutcome>> Combiner::claim(std::vector<ClaimWish> wishes) {
  return call_and_wait(&Lines::claims, std::move(wishes));
}

// ---- Rounds ----

void Combiner::run() {
  while (wait_for_work()) (void)run_round();
}

bool Combiner::run_round() {
  if (waiting_.empty()) begin_round();
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty() && arrived_.empty()) return false;
  }
  const InRound in_round(this);
  if (is_for_exchange()) {
    exchange();
  } else {
    commit_each();
  }
  return true;
}

void Combiner::begin_round() {
  const std::lock_guard lock(mutex_);
  last_round_ = pending_;
}

// False once the combiner is stopped and nothing is left to do.
bool Combiner::wait_for_work() {
  if (!waiting_.empty()) return true;
  std::unique_lock lock(mutex_);
  has_work_.wait(lock, [this] { return !running_ || !arrived_.empty(); });
  wait_for_the_crowd(lock);
  return !arrived_.empty();
}

void Combiner::wait_for_the_crowd(std::unique_lock<std::mutex>& lock) {
  if (last_round_ < kCrowd || pending_ >= last_round_ || !running_) return;
  lock.unlock();
  Waker timer;  // never notified: each arriving call would wake it
  (void)timer.wait(SystemClock().now() + kMoment);
  lock.lock();
}

// The line with all that has arrived at its end.
template <typename LineType>
LineType& Combiner::gather(LineType Lines::*kind) {
  LineType& line = waiting_.*kind;
  const std::lock_guard lock(mutex_);
  LineType& arrived = arrived_.*kind;
  if (line.empty()) {
    line.swap(arrived);
  } else {
    std::move(arrived.begin(), arrived.end(), std::back_inserter(line));
    arrived.clear();
  }
  return line;
}

// The next batch of a kind.
template <typename LineType, typename Rule>
auto Combiner::take(LineType Lines::*kind, Rule rule) {
  using EntryType = typename LineType::value_type;
  LineType& line = gather(kind);
  Batch<typename EntryType::Item, typename EntryType::Outcome> batch;
  while (!line.empty() && batch.items.size() < options_.max_batch) {
    if (!rule(std::as_const(line.front().item))) break;
    batch.items.push_back(std::move(line.front().item));
    batch.replies.push_back(std::move(line.front().reply));
    line.pop_front();
  }
  return batch;
}

auto Combiner::take_settles() { return take(&Lines::settles, AnyItems()); }
auto Combiner::take_submits() { return take(&Lines::submits, AnyItems()); }
auto Combiner::take_claims() { return take(&Lines::claims, AtMostTasks(options_.max_batch)); }

void Combiner::commit_each() {
  commit(take_settles(), [this](auto items) { return store_.settle(items); });
  commit(take_submits(), [this](auto items) { return store_.submit(items); });
  commit(take(&Lines::cancels, AnyItems()), [this](auto items) { return store_.cancel(items); });
  commit(take_claims(), [this](auto items) { return store_.claim(items); });
}

bool Combiner::is_for_exchange() {
  const std::lock_guard lock(mutex_);
  const auto any = [this](auto Lines::*kind) { return !(waiting_.*kind).empty() || !(arrived_.*kind).empty(); };
  return !any(&Lines::cancels) && any(&Lines::settles) + any(&Lines::submits) + any(&Lines::claims) > 1;
}

void Combiner::exchange() {
  auto settles = take_settles();
  auto submits = take_submits();
  auto claims = take_claims();
  if (HORAE_MUTANT("acknowledged_before_commit")) {
    auto replies = std::exchange(submits.replies, {});
    answer<SubmitOutcome>(replies, made_up(submits.items));
  }
  auto outcome = store_.exchange({.settlements = settles.items, .submissions = submits.items, .wishes = claims.items});
  if (outcome.ok()) {
    answer<SettleOutcome>(settles.replies, std::move(outcome->settled));
    answer<SubmitOutcome>(submits.replies, std::move(outcome->submitted));
    answer<ClaimOutcome>(claims.replies, std::move(outcome->leased));
  } else if (outcome.error().retryable()) {
    if (HORAE_MUTANT("settlements_lost_with_failed_claim")) {
      auto replies = std::exchange(settles.replies, {});
      answer<SettleOutcome>(replies, std::vector(replies.size(), SettleOutcome{.verdict = Verdict::kAccepted}));
    }
    answer<SettleOutcome>(settles.replies, outcome.error());
    answer<SubmitOutcome>(submits.replies, outcome.error());
    answer<ClaimOutcome>(claims.replies, outcome.error());
  } else {
    // Nothing was done, because of one item or several: each kind by itself finds out which.
    commit(std::move(settles), [this](auto items) { return store_.settle(items); });
    commit(std::move(submits), [this](auto items) { return store_.submit(items); });
    commit(std::move(claims), [this](auto items) { return store_.claim(items); });
  }
}

template <typename BatchType, typename StoreCall>
void Combiner::commit(BatchType batch, const StoreCall& store_call) {
  if (!batch.items.empty()) commit(std::span(std::as_const(batch.items)), std::span(batch.replies), store_call);
}

template <typename Item, typename Outcome, typename StoreCall>
void Combiner::commit(std::span<const Item> items, std::span<Reply<Outcome>> replies, const StoreCall& store_call) {
  Result<std::vector<Outcome>> outcomes = store_call(items);
  if (outcomes.ok() || outcomes.error().retryable() || items.size() == 1) return answer(replies, std::move(outcomes));
  // Nothing was done, because of one item or several.
  const std::size_t half = items.size() / 2;
  commit(items.first(half), replies.first(half), store_call);
  commit(items.subspan(half), replies.subspan(half), store_call);
}

template <typename Outcome>
void Combiner::answer(std::span<Reply<Outcome>> replies, Result<std::vector<Outcome>> outcomes) {
  if (replies.empty()) return;
  HORAE_CHECK(!outcomes.ok() || outcomes->size() == replies.size(), "a store answers each item");
  {
    const std::lock_guard lock(mutex_);
    pending_ -= replies.size();
  }
  for (std::size_t i = 0; i < replies.size(); ++i) {
    auto& [call, place] = replies[i];
    if (outcomes.ok()) call->outcomes[place] = std::move((*outcomes)[i]);
    if (!outcomes.ok()) call->outcomes[place] = outcomes.error();
    if (--call->missing == 0) call->done(std::move(call->outcomes));
    call.reset();
  }
}

}  // namespace horae
