// What the tests of the combiner share: a store that fails and waits on demand.
#pragma once

#include <condition_variable>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "store/combiner.h"

namespace horae {

// ---- A store that only remembers how it was called ----

// Each item has a label, by which it is found again.
inline const std::string& label_of(const Submission& submission) { return submission.task.spec; }
inline const std::string& label_of(const Settlement& settlement) { return settlement.owner; }
inline const std::string& label_of(const CancelWish& wish) { return *wish.reason; }
inline const std::string& label_of(const ClaimWish& wish) { return wish.owner; }

// Outcomes carry the label back, a cancel as far as it can.
inline SubmitOutcome outcome_of(const Submission& submission) {
  return {.number = std::stoll("0" + submission.task.queue)};
}
inline SettleOutcome outcome_of(const Settlement& settlement) {
  return {.verdict = Verdict::kAccepted, .owner = settlement.owner};
}
inline CancelOutcome outcome_of(const CancelWish& /*wish*/) { return {.verdict = Verdict::kAccepted}; }
inline ClaimOutcome outcome_of(const ClaimWish& wish) { return {.tasks = {{.queue = wish.owner}}}; }

inline Error unused() { return {ErrorCode::kInternal, "not for a combiner"}; }

// Writes down each call as "submit a b c", with ": refused" behind it if it fails. While the gate is closed, calls wait
// inside.
class FakeStore final : public TaskStore {
 public:
  // From now on, a call with an item of this label fails.
  void fail_on(const std::string& label, ErrorCode code) {
    const std::lock_guard lock(mutex_);
    faults_[label] = code;
  }

  void close_gate() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }

  void open_gate() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  void wait_until_a_call_is_inside() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return inside_; });
  }

  std::vector<std::string> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions) override {
    return call<SubmitOutcome>("submit", submissions);
  }
  Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements) override {
    return call<SettleOutcome>("settle", settlements);
  }
  Result<std::vector<CancelOutcome>> cancel(std::span<const CancelWish> wishes) override {
    return call<CancelOutcome>("cancel", wishes);
  }
  Result<std::vector<ClaimOutcome>> claim(std::span<const ClaimWish> wishes) override {
    return call<ClaimOutcome>("claim", wishes);
  }

  // Written down as "exchange settle t submit a b claim w", without the kinds that it has not.
  Result<BundleOutcome> exchange(const Bundle& calls) override {
    std::unique_lock lock(mutex_);
    pass_gate(lock);
    calls_.push_back("exchange");
    std::optional<Error> fault;
    BundleOutcome outcome{.settled = note<SettleOutcome>(" settle", calls.settlements, fault),
                          .submitted = note<SubmitOutcome>(" submit", calls.submissions, fault),
                          .leased = note<ClaimOutcome>(" claim", calls.wishes, fault)};
    if (!fault) return outcome;
    calls_.back() += ": " + std::string(to_string(fault->code));
    return *fault;
  }

  Result<std::vector<LeasedTask>> leases_of(const Uuid& /*token*/) override { return unused(); }
  Result<std::vector<bool>> have_served(std::span<const Uuid> /*tokens*/) override { return unused(); }
  Result<PromoteOutcome> promote_due(std::size_t /*max*/) override { return unused(); }
  Result<Watch> look() override { return unused(); }
  Result<bool> extend_leases(const std::optional<Instant>& /*seen*/) override { return unused(); }
  Result<ExpireOutcome> expire_leases(const ExpireWish& /*wish*/) override { return unused(); }
  Result<PurgeOutcome> purge(std::size_t /*max*/) override { return unused(); }
  Result<std::vector<std::optional<Task>>> get(std::span<const TaskId> /*ids*/) override { return unused(); }
  Result<std::optional<Task>> find(std::string_view /*queue*/, std::string_view /*key*/) override { return unused(); }
  Result<Page> list(const ListQuery& /*query*/) override { return unused(); }

 private:
  void pass_gate(std::unique_lock<std::mutex>& lock) {
    inside_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    inside_ = false;
  }

  // Adds the items to the newest call.
  template <typename Outcome, typename Item>
  std::vector<Outcome> note(const std::string& name, std::span<const Item> items, std::optional<Error>& fault) {
    std::vector<Outcome> outcomes;
    if (!items.empty()) calls_.back() += name;
    for (const Item& item : items) {
      calls_.back() += " " + label_of(item);
      const auto found = faults_.find(label_of(item));
      if (found != faults_.end() && !fault) fault = Error{found->second, "because of " + found->first};
      outcomes.push_back(outcome_of(item));
    }
    return outcomes;
  }

  template <typename Outcome, typename Item>
  Result<std::vector<Outcome>> call(const std::string& name, std::span<const Item> items) {
    std::unique_lock lock(mutex_);
    pass_gate(lock);
    calls_.emplace_back();
    std::optional<Error> fault;
    std::vector<Outcome> outcomes = note<Outcome>(name, items, fault);
    if (!fault) return outcomes;
    calls_.back() += ": " + std::string(to_string(fault->code));
    return *fault;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;                         // guarded by mutex_
  bool inside_ = false;                      // guarded by mutex_
  std::map<std::string, ErrorCode> faults_;  // guarded by mutex_
  std::vector<std::string> calls_;           // guarded by mutex_
};

// ---- Items and answers ----

inline TaskId id(int number) {
  TaskId made;
  made.bytes[0] = static_cast<std::uint8_t>(number);
  return made;
}

inline Submission submission(std::string label) { return {.task = {.queue = "1", .spec = std::move(label)}}; }

// A number that comes back in the outcome.
inline Submission numbered(int number) {
  return {.task = {.queue = std::to_string(number), .spec = "s" + std::to_string(number)}};
}

inline Settlement settlement(int task, int attempt, std::string label) {
  return {.id = id(task), .attempt = attempt, .owner = std::move(label)};
}

inline CancelWish cancel_wish(std::string label) { return {.id = id(1), .reason = std::move(label)}; }

inline ClaimWish claim_wish(std::string label, int max = 1) {
  return {.owner = std::move(label), .queues = {"q"}, .max = max};
}

inline std::vector<Submission> submissions(int count) {
  std::vector<Submission> items;
  for (int number = 1; number <= count; ++number) items.push_back(numbered(number));
  return items;
}

// The answers that callbacks got, as text: "ok", "refused: because of c".
class Answers {
 public:
  template <typename Outcome>
  std::function<void(Result<Outcome>)> as(std::string label) {
    return [this, label = std::move(label)](const Result<Outcome>& outcome) { add(label, text(outcome)); };
  }
  std::function<void(Result<SubmitOutcome>)> of(std::string label) { return as<SubmitOutcome>(std::move(label)); }

  std::function<void(std::vector<Result<SubmitOutcome>>)> of_batch(std::string label) {
    return [this, label = std::move(label)](const std::vector<Result<SubmitOutcome>>& outcomes) {
      std::string all;
      for (const auto& outcome : outcomes) all += (all.empty() ? "" : ", ") + text(outcome);
      add(label, all);
    };
  }

  // By label; of a label that was answered more than once, all.
  std::multimap<std::string, std::string> all() const {
    const std::lock_guard lock(mutex_);
    return answers_;
  }

  std::string only(const std::string& label) const {
    const std::lock_guard lock(mutex_);
    return answers_.count(label) == 1 ? answers_.find(label)->second
                                      : std::to_string(answers_.count(label)) + " answers";
  }

 private:
  template <typename Outcome>
  static std::string text(const Result<Outcome>& outcome) {
    if (outcome.ok()) return "ok";
    return std::string(to_string(outcome.error().code)) + ": " + outcome.error().message;
  }

  void add(const std::string& label, std::string answer) {
    const std::lock_guard lock(mutex_);
    answers_.emplace(label, std::move(answer));
  }

  mutable std::mutex mutex_;
  std::multimap<std::string, std::string> answers_;  // guarded by mutex_
};

// A combiner that runs, with its store.
struct World {
  explicit World(CombinerOptions options = {}) : combiner(store, options) { combiner.start(); }

  // Lets a first claim wait inside the store, so that what follows gathers.
  void hold() {
    store.close_gate();
    combiner.claim(claim_wish("first"), [](const auto& /*tasks*/) {});
    store.wait_until_a_call_is_inside();
  }

  // Lets all go on, and waits until all is answered.
  void finish() {
    store.open_gate();
    combiner.stop();
  }

  // The calls of the store after the first claim.
  std::vector<std::string> calls() const {
    auto calls = store.calls();
    if (!calls.empty() && calls.front() == "claim first") calls.erase(calls.begin());
    return calls;
  }

  void submit(const std::string& label) { combiner.submit(submission(label), answers.of(label)); }
  void settle(int task, int attempt, const std::string& label) {
    combiner.settle(settlement(task, attempt, label), answers.as<SettleOutcome>(label));
  }

  FakeStore store;
  Answers answers;
  Combiner combiner;
};

// The words of a call of the store.
inline std::vector<std::string> words_of(const std::string& call) {
  std::istringstream words(call);
  return {std::istream_iterator<std::string>(words), {}};
}

}  // namespace horae
