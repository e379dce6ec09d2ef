// store_worker URL: submits, claims and completes tasks forever, in a few threads, and prints each acknowledgement of
// the store on standard output. It is meant to be killed at any moment, and so is its store: while the store is
// unavailable, the worker repeats its calls with the same ids and tokens. It ends by itself only if the store returns
// something that it must not return.
//
//   submitted ID          the task is durable
//   claimed ID ATTEMPT    this worker holds the attempt
//   completed ID ATTEMPT  the completion was accepted
//   unavailable MESSAGE   the store was unavailable; the call will be repeated
//   broken MESSAGE        the store violated its contract; the worker ends

#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "tests/crash/any_store.h"

namespace {

using namespace horae;  // NOLINT(google-build-using-namespace): a program of one file

constexpr int kBatch = 8;
constexpr int kExchanges = 3;  // in a row
constexpr Duration kLease = kMinLease;
constexpr Duration kSlack = std::chrono::minutes(1);
constexpr int kPauseMilliseconds = 20;

// Thread-safe: lines of several threads do not mix.
void print(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::cout << line << std::endl;
}

void print(const std::string& word, const TaskId& id, int attempt) {
  print(word + ' ' + to_string(id) + ' ' + std::to_string(attempt));
}

[[noreturn]] void fail(const std::string& message) {
  print("broken " + message);
  std::_Exit(1);
}

// True if the call must be repeated because the store is unavailable. Pauses first, since a recovery takes a while;
// ends the program on any other error.
bool is_unavailable(const Error& error) {
  if (error.code != ErrorCode::kUnavailable) fail(error.message);
  print("unavailable " + error.message.substr(0, error.message.find('\n')));
  poll(nullptr, 0, kPauseMilliseconds);
  return true;
}

// Repeats an idempotent call until it succeeds.
template <typename Call>
auto retry(Call call) {
  for (;;) {
    auto answer = call();
    if (answer.ok()) return std::move(*answer);
    (void)is_unavailable(answer.error());
  }
}

class Worker {
 public:
  Worker(Store& store, const Clock& clock)
      : store_(store), ids_(clock, random_), owner_(retry([&] { return store.queues().new_worker_id(); })) {}

  void work_forever() {
    while (true) {
      submit();
      settle(claim());
      for (int i = 0; i < kExchanges; ++i) exchange();
      settle(std::exchange(held_, {}));
      expire();
    }
  }

 private:
  void submit() {
    const auto submissions = new_submissions();
    print_submitted(retry([&] { return store_.tasks().submit(submissions); }));
  }

  std::vector<Submission> new_submissions() {
    std::vector<Submission> submissions;
    for (int i = 0; i < kBatch; ++i)
      submissions.push_back({.task = {.queue = "crash", .spec = "{}"}, .new_id = ids_.next()});
    return submissions;
  }

  static void print_submitted(const std::vector<SubmitOutcome>& outcomes) {
    for (const SubmitOutcome& outcome : outcomes) {
      using Kind = SubmitOutcome::Kind;
      if (outcome.kind != Kind::kCreated && outcome.kind != Kind::kPresent)
        fail("not stored: " + to_string(outcome.id));
      print("submitted", outcome.id, 0);
    }
  }

  ClaimWish new_wish() {
    return {.owner = owner_, .queues = {"crash"}, .max = kBatch, .token = ids_.next(), .lease = kLease};
  }

  // If the reply of a claim was lost, its token returns what it got.
  std::vector<LeasedTask> claim() {
    const std::vector<ClaimWish> wishes = {new_wish()};
    auto answer = store_.tasks().claim(wishes);
    auto leased = answer.ok() || !is_unavailable(answer.error())
                      ? std::move(answer->at(0).tasks)
                      : retry([&] { return store_.tasks().leases_of(wishes[0].token); });
    for (const LeasedTask& task : leased) print("claimed", task.id, task.attempt);
    return leased;
  }

  // Completes what the previous exchange claimed, submits and claims, in one call. If the reply was lost, repeats each
  // part.
  void exchange() {
    std::vector<Settlement> done;
    for (const LeasedTask& task : held_) {
      done.push_back(
          {.event = Event::kComplete, .id = task.id, .number = task.number, .attempt = task.attempt, .owner = owner_});
    }
    const auto fresh = new_submissions();
    const std::vector<ClaimWish> wishes = {new_wish()};
    auto answer = store_.tasks().exchange({.settlements = done, .submissions = fresh, .wishes = wishes});
    BundleOutcome outcome;
    if (answer.ok() || !is_unavailable(answer.error())) {
      outcome = std::move(*answer);
    } else {
      outcome.settled = retry([&] { return store_.tasks().settle(done); });
      outcome.submitted = retry([&] { return store_.tasks().submit(fresh); });
      outcome.leased = {{.tasks = retry([&] { return store_.tasks().leases_of(wishes[0].token); })}};
    }
    print_completed(done, outcome.settled);
    print_submitted(outcome.submitted);
    held_ = std::move(outcome.leased[0].tasks);
    for (const LeasedTask& task : held_) print("claimed", task.id, task.attempt);
  }

  // Completes all but one, so that some leases expire and their tasks are claimed again.
  void settle(const std::vector<LeasedTask>& leased) {
    std::vector<Settlement> completions;
    for (std::size_t i = 1; i < leased.size(); ++i) {
      completions.push_back(
          {.event = Event::kComplete, .id = leased[i].id, .attempt = leased[i].attempt, .owner = owner_});
    }
    print_completed(completions, retry([&] { return store_.tasks().settle(completions); }));
  }

  static void print_completed(const std::vector<Settlement>& completions, const std::vector<SettleOutcome>& outcomes) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].verdict == Verdict::kNotFound) fail("lost: " + to_string(completions[i].id));
      if (is_success(outcomes[i].verdict)) print("completed", completions[i].id, completions[i].attempt);
    }
  }

  // Like a monitor. A lost reply does not matter, since the next call does the same.
  void expire() {
    const auto seen = retry([&] { return store_.tasks().look(); }).stamp;
    const auto expired = store_.tasks().expire_leases({.seen = seen, .slack = kSlack});
    if (!expired.ok()) {
      (void)is_unavailable(expired.error());
    } else if (expired->kind == ExpireOutcome::Kind::kNoStamp) {
      (void)retry([&] { return store_.tasks().extend_leases(seen); });
    }
  }

  Store& store_;
  SystemRandom random_;
  UuidSource ids_;
  std::string owner_;
  std::vector<LeasedTask> held_;  // claimed by the last exchange
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const SystemClock clock;
  const auto store = retry([&] { return testing::open_any_store(argv[1], clock); });
  std::vector<std::thread> threads;
  for (int i = 0; i < testing::kWorkerThreads; ++i) threads.emplace_back([&] { Worker(*store, clock).work_forever(); });
  for (std::thread& thread : threads) thread.join();
}
