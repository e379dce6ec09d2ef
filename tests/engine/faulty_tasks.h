// A store that fails on demand, before a call has done its work or after. Calls may come from several threads; the members
// are set while none is under way.
#pragma once

#include <atomic>
#include <functional>

#include "store/task_store.h"

namespace horae::testing {

class FaultyTasks final : public TaskStore {
 public:
  enum class Fault {
    kNone,
    kBefore,  // nothing is done, and the caller gets kUnavailable
    kAfter,   // the call is done, and the caller gets kUnavailable
  };

  explicit FaultyTasks(TaskStore& store) : store_(store) {}

  Fault fault = Fault::kNone;
  bool fails_as_a_whole = false;             // the fault is of exchange(), not of the parts that it is made of
  ErrorCode code = ErrorCode::kUnavailable;  // instead of kUnavailable
  std::atomic<int> calls = 0;
  std::atomic<int> claims = 0;                         // calls of claim()
  std::atomic<int> asked_for = 0;                      // wishes in calls of claim() and exchange()
  std::atomic<int> exchanges = 0;                      // calls of exchange()
  std::atomic<int> looks = 0;                          // calls of leases_of()
  std::function<void()> before_claims_answer = [] {};  // after a claim, before its caller gets the answer

  // The caller's process dies at its n-th call from now on, before or after the call's work: Crash is thrown.
  struct Crash {};
  int calls_to_crash = 0;  // 0 for never
  bool crashes_after = false;

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions) override {
    return call([&] { return store_.submit(submissions); });
  }
  Result<std::vector<ClaimOutcome>> claim(std::span<const ClaimWish> wishes) override {
    ++claims;
    asked_for += static_cast<int>(wishes.size());
    return call([&] {
      auto granted = store_.claim(wishes);
      before_claims_answer();
      return granted;
    });
  }
  Result<std::vector<LeasedTask>> leases_of(const Uuid& token) override {
    ++looks;
    return call([&] { return store_.leases_of(token); });
  }
  Result<std::vector<bool>> have_served(std::span<const Uuid> tokens) override {
    return call([&] { return store_.have_served(tokens); });
  }
  Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements) override {
    return call([&] { return store_.settle(settlements); });
  }
  Result<BundleOutcome> exchange(const Bundle& bundle) override {
    ++exchanges;
    if (!fails_as_a_whole) return TaskStore::exchange(bundle);
    asked_for += static_cast<int>(bundle.wishes.size());
    return call([&] { return store_.exchange(bundle); });
  }
  Result<std::vector<CancelOutcome>> cancel(std::span<const CancelWish> wishes) override {
    return call([&] { return store_.cancel(wishes); });
  }
  Result<PromoteOutcome> promote_due(std::size_t max) override {
    return call([&] { return store_.promote_due(max); });
  }
  Result<Watch> look() override {
    return call([&] { return store_.look(); });
  }
  Result<bool> extend_leases(const std::optional<Instant>& seen) override {
    return call([&] { return store_.extend_leases(seen); });
  }
  Result<ExpireOutcome> expire_leases(const ExpireWish& wish) override {
    return call([&] { return store_.expire_leases(wish); });
  }
  Result<PurgeOutcome> purge(std::size_t max) override {
    return call([&] { return store_.purge(max); });
  }
  Result<std::vector<std::optional<Task>>> get(std::span<const TaskId> ids) override {
    return call([&] { return store_.get(ids); });
  }
  Result<std::optional<Task>> find(std::string_view queue, std::string_view key) override {
    return call([&] { return store_.find(queue, key); });
  }
  Result<Page> list(const ListQuery& query) override {
    return call([&] { return store_.list(query); });
  }

 private:
  template <typename Call>
  auto call(Call call) -> decltype(call()) {
    ++calls;
    const bool is_last = calls_to_crash > 0 && --calls_to_crash == 0;
    if (is_last && !crashes_after) throw Crash();
    if (fault == Fault::kBefore) return away();
    auto answer = call();
    if (is_last) throw Crash();
    if (fault == Fault::kAfter) return away();
    return answer;
  }

  Error away() const { return {code, "the test made the store fail"}; }

  TaskStore& store_;
};

}  // namespace horae::testing
