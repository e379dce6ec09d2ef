// store_worker URL: submits, claims and completes tasks for ever, in a few threads, and says each thing that the store
// has acknowledged on standard output. It is meant to be killed at any moment, and so is its store: while that is away,
// the worker repeats its calls with the same ids and tokens. It ends by itself only when the store says something that
// it must not say.
//
//   submitted ID          the task is durable
//   claimed ID ATTEMPT    this attempt is ours
//   completed ID ATTEMPT  accepted
//   away MESSAGE          the store is, and the call will be repeated
//   broken MESSAGE        the last word

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
constexpr int kExchanges = 3;  // one after the other
constexpr Duration kLease = kMinLease;
constexpr Duration kSilence = std::chrono::minutes(1);
constexpr int kPauseMilliseconds = 20;

// Lines of several threads do not mix.
void say(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::cout << line << std::endl;
}

void say(const std::string& word, const TaskId& id, int attempt) {
  say(word + ' ' + to_string(id) + ' ' + std::to_string(attempt));
}

[[noreturn]] void break_off(const std::string& message) {
  say("broken " + message);
  std::_Exit(1);
}

// True if the call is to be repeated: the store is away. Not at once, since it may take a while to come back.
bool is_away(const Error& error) {
  if (error.code != ErrorCode::kUnavailable) break_off(error.message);
  say("away " + error.message.substr(0, error.message.find('\n')));
  poll(nullptr, 0, kPauseMilliseconds);
  return true;
}

// The value of a call that can be repeated as it is.
template <typename Call>
auto insist(Call call) {
  for (;;) {
    auto answer = call();
    if (answer.ok()) return std::move(*answer);
    (void)is_away(answer.error());
  }
}

class Worker {
 public:
  Worker(Store& store, const Clock& clock)
      : store_(store), ids_(clock, random_), owner_(insist([&] { return store.queues().new_worker_id(); })) {}

  void work_for_ever() {
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
    say_submitted(insist([&] { return store_.tasks().submit(submissions); }));
  }

  std::vector<Submission> new_submissions() {
    std::vector<Submission> submissions;
    for (int i = 0; i < kBatch; ++i)
      submissions.push_back({.task = {.queue = "crash", .spec = "{}"}, .new_id = ids_.next()});
    return submissions;
  }

  static void say_submitted(const std::vector<SubmitOutcome>& outcomes) {
    for (const SubmitOutcome& outcome : outcomes) {
      using Kind = SubmitOutcome::Kind;
      if (outcome.kind != Kind::kCreated && outcome.kind != Kind::kPresent)
        break_off("not stored: " + to_string(outcome.id));
      say("submitted", outcome.id, 0);
    }
  }

  ClaimWish new_wish() {
    return {.owner = owner_, .queues = {"crash"}, .max = kBatch, .token = ids_.next(), .lease = kLease};
  }

  // What a claim without an answer has got is told by its token.
  std::vector<LeasedTask> claim() {
    const std::vector<ClaimWish> wishes = {new_wish()};
    auto answer = store_.tasks().claim(wishes);
    auto leased = answer.ok() || !is_away(answer.error())
                      ? std::move(answer->at(0))
                      : insist([&] { return store_.tasks().leases_of(wishes[0].token); });
    for (const LeasedTask& task : leased) say("claimed", task.id, task.attempt);
    return leased;
  }

  // Completes all that the last one claimed, submits and claims, in one call. Without an answer each part is repeated.
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
    if (answer.ok() || !is_away(answer.error())) {
      outcome = std::move(*answer);
    } else {
      outcome.settled = insist([&] { return store_.tasks().settle(done); });
      outcome.submitted = insist([&] { return store_.tasks().submit(fresh); });
      outcome.leased = {insist([&] { return store_.tasks().leases_of(wishes[0].token); })};
    }
    say_completed(done, outcome.settled);
    say_submitted(outcome.submitted);
    held_ = std::move(outcome.leased[0]);
    for (const LeasedTask& task : held_) say("claimed", task.id, task.attempt);
  }

  // All but one, so that some leases are left to expire and to be claimed again.
  void settle(const std::vector<LeasedTask>& leased) {
    std::vector<Settlement> completions;
    for (std::size_t i = 1; i < leased.size(); ++i) {
      completions.push_back(
          {.event = Event::kComplete, .id = leased[i].id, .attempt = leased[i].attempt, .owner = owner_});
    }
    say_completed(completions, insist([&] { return store_.tasks().settle(completions); }));
  }

  static void say_completed(const std::vector<Settlement>& completions, const std::vector<SettleOutcome>& outcomes) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].verdict == Verdict::kNotFound) break_off("lost: " + to_string(completions[i].id));
      if (is_success(outcomes[i].verdict)) say("completed", completions[i].id, completions[i].attempt);
    }
  }

  // As a monitor does. Whether it happened matters to nobody: the next one looks again.
  void expire() {
    const auto seen = insist([&] { return store_.tasks().look(); }).stamp;
    const auto expired = store_.tasks().expire_leases({.seen = seen, .silence = kSilence});
    if (!expired.ok()) {
      (void)is_away(expired.error());
    } else if (expired->kind == ExpireOutcome::Kind::kTooOld) {
      (void)insist([&] { return store_.tasks().extend_leases(seen); });
    }
  }

  Store& store_;
  SystemRandom random_;
  UuidSource ids_;
  std::string owner_;
  std::vector<LeasedTask> held_;  // by the last exchange
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const SystemClock clock;
  const auto store = insist([&] { return testing::open_any_store(argv[1], clock); });
  std::vector<std::thread> threads;
  for (int i = 0; i < testing::kWorkerThreads; ++i)
    threads.emplace_back([&] { Worker(*store, clock).work_for_ever(); });
  for (std::thread& thread : threads) thread.join();
}
