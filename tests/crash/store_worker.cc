// store_worker URL: submits, claims and completes tasks for ever, and says each thing that the store has acknowledged
// on standard output. It is meant to be killed at any moment.
//
//   submitted ID          the task is durable
//   claimed ID ATTEMPT    this attempt is ours
//   completed ID ATTEMPT  accepted

#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "stores/sqlite/sqlite_store.h"

namespace {

using namespace horae;  // NOLINT(google-build-using-namespace): a program of one file

constexpr int kBatch = 8;
constexpr Duration kLease = kMinLease;

void say(const std::string& word, const TaskId& id, int attempt) {
  std::cout << word << ' ' << to_string(id) << ' ' << attempt << std::endl;
}

class Worker {
 public:
  Worker(Store& store, const Clock& clock)
      : store_(store), ids_(clock, random_), owner_(store.queues().new_worker_id().value()) {}

  void work_for_ever() {
    (void)store_.tasks().extend_leases(store_.tasks().look()->stamp);
    while (true) {
      submit();
      settle(claim());
      expire();
    }
  }

 private:
  void submit() {
    std::vector<Submission> submissions;
    for (int i = 0; i < kBatch; ++i)
      submissions.push_back({.task = {.queue = "crash", .spec = "{}"}, .new_id = ids_.next()});
    for (const SubmitOutcome& outcome : store_.tasks().submit(submissions).value()) say("submitted", outcome.id, 0);
  }

  std::vector<LeasedTask> claim() {
    const std::vector<ClaimWish> wishes = {
        {.owner = owner_, .queues = {"crash"}, .max = kBatch, .token = ids_.next(), .lease = kLease}};
    auto leased = store_.tasks().claim(wishes).value().at(0);
    for (const LeasedTask& task : leased) say("claimed", task.id, task.attempt);
    return leased;
  }

  // All but one, so that some leases are left to expire and to be claimed again.
  void settle(const std::vector<LeasedTask>& leased) {
    std::vector<Settlement> completions;
    for (std::size_t i = 1; i < leased.size(); ++i) {
      completions.push_back(
          {.event = Event::kComplete, .id = leased[i].id, .attempt = leased[i].attempt, .owner = owner_});
    }
    const auto outcomes = store_.tasks().settle(completions).value();
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].verdict == Verdict::kAccepted) say("completed", completions[i].id, completions[i].attempt);
    }
  }

  void expire() {
    (void)store_.tasks().expire_leases({.seen = store_.tasks().look()->stamp, .silence = std::chrono::minutes(1)});
  }

  Store& store_;
  SystemRandom random_;
  UuidSource ids_;
  std::string owner_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const SystemClock clock;
  const auto store = open_sqlite_store(argv[1], clock);
  if (!store.ok()) {
    std::cerr << store.error().message << '\n';
    return 1;
  }
  Worker(**store, clock).work_for_ever();
}
