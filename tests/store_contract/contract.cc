#include "tests/store_contract/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <latch>
#include <thread>

#include "base/time_text.h"

namespace horae {

void PrintTo(State state, std::ostream* out) { *out << to_string(state); }
void PrintTo(Event event, std::ostream* out) { *out << to_string(event); }
void PrintTo(Verdict verdict, std::ostream* out) { *out << to_string(verdict); }
void PrintTo(EnqueueKind kind, std::ostream* out) {
  constexpr std::array kNames = {"waiting", "readied", "late", "repeated", "firing"};
  *out << kNames.at(static_cast<std::size_t>(kind));
}
void PrintTo(ErrorCode code, std::ostream* out) { *out << to_string(code); }
void PrintTo(const Uuid& uuid, std::ostream* out) { *out << to_string(uuid); }

void PrintTo(const HistoryEntry& entry, std::ostream* out) {
  *out << fmt::format("{} of attempt {} by {} at {}, progress {}, detail {}", to_string(entry.kind), entry.attempt,
                      entry.worker, format_instant(entry.time), entry.progress.value_or(-1.0), entry.detail);
}

}  // namespace horae

namespace horae::testing {
namespace {

constexpr Duration kAnySilence = 24h;
constexpr int kMaxPages = 5'000;

TaskId id_of(const LeasedTask& leased) { return leased.id; }

// For threads: an exception would end the program, and keep the other threads waiting.
void fail_on_exception(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& failure) {
    ADD_FAILURE() << failure.what();
  }
}

}  // namespace

void PrintTo(const BackendMaker& maker, std::ostream* out) { *out << maker.name; }

QueueScope scope_of(std::vector<std::string> patterns) { return value_of(QueueScope::of(std::move(patterns))); }

Settlement settlement(Event event, const Lease& lease) {
  Settlement said{
      .event = event, .id = lease.id, .number = lease.number, .attempt = lease.attempt, .owner = lease.owner};
  if (event == Event::kAbort) said.errors = errors_of("failed");
  return said;
}

std::vector<TaskError> errors_of(std::string code) {
  return {{.code = std::move(code), .args = R"({"disk":"full"})", .description = "It did not work."}};
}

::testing::Matcher<const HistoryEntry&> entry(HistoryKind kind, std::string worker, int attempt) {
  return ::testing::AllOf(::testing::Field(&HistoryEntry::kind, kind),
                          ::testing::Field(&HistoryEntry::worker, std::move(worker)),
                          ::testing::Field(&HistoryEntry::attempt, attempt));
}

std::vector<TaskId> ids_of(const std::vector<LeasedTask>& leased) {
  std::vector<TaskId> ids(leased.size());
  std::ranges::transform(leased, ids.begin(), id_of);
  return ids;
}

std::vector<TaskId> ids_of(const std::vector<Lease>& leases) {
  std::vector<TaskId> ids(leases.size());
  std::ranges::transform(leases, ids.begin(), id_of);
  return ids;
}

std::vector<Task> all_pages(TaskStore& tasks, ListQuery query) {
  std::vector<Task> all;
  for (int pages = 0; pages < kMaxPages; ++pages) {
    Page page = value_of(tasks.list(query));
    EXPECT_LE(page.tasks.size(), static_cast<std::size_t>(query.limit));
    std::ranges::move(page.tasks, std::back_inserter(all));
    if (page.next.empty()) return all;
    query.cursor = page.next;
  }
  throw std::runtime_error("the list does not end");
}

Contract::Contract() : backend_(GetParam().make()) { node_clock_.step_wall(now() - node_clock_.wall_now()); }

Instant Contract::now() { return look().now; }

void Contract::advance(Duration by) {
  backend_->advance(by);
  node_clock_.advance(by);
}

void Contract::step_clock(Duration by) { backend_->step_clock(by); }

Submission Contract::submission(NewTask task) {
  if (task.queue.empty()) task.queue = kQueue;
  if (task.spec.empty()) task.spec = "{}";
  return {.task = std::move(task), .new_id = new_id()};
}

std::vector<SubmitOutcome> Contract::submit_all(const std::vector<Submission>& submissions) {
  return value_of(tasks().submit(submissions));
}

SubmitOutcome Contract::try_submit(NewTask task) { return submit_all({submission(std::move(task))}).at(0); }

TaskId Contract::submit(NewTask task) {
  const SubmitOutcome outcome = try_submit(std::move(task));
  EXPECT_EQ(outcome.kind, SubmitOutcome::Kind::kCreated);
  return outcome.id;
}

std::vector<TaskId> Contract::submit_many(std::size_t count, const NewTask& task) {
  std::vector<TaskId> ids;
  while (ids.size() < count) {
    std::vector<Submission> batch;
    while (batch.size() < std::min(kMaxBatch, count - ids.size())) batch.push_back(submission(task));
    for (const SubmitOutcome& outcome : submit_all(batch)) {
      EXPECT_EQ(outcome.kind, SubmitOutcome::Kind::kCreated);
      ids.push_back(outcome.id);
    }
  }
  return ids;
}

ClaimWish Contract::wish(int max, std::string owner, std::vector<std::string> queues) {
  return {.owner = std::move(owner), .queues = std::move(queues), .max = max, .token = new_id()};
}

std::vector<Lease> Contract::claim(const ClaimWish& wish) {
  auto taken = value_of(tasks().claim(std::vector{wish}));
  std::vector<Lease> leases;
  for (LeasedTask& leased : taken.at(0).tasks) leases.push_back({std::move(leased), wish.owner});
  return leases;
}

std::vector<Lease> Contract::claim_up_to(int max, std::string owner, std::vector<std::string> queues) {
  return claim(wish(max, std::move(owner), std::move(queues)));
}

Lease Contract::claim(std::string owner, std::string queue) {
  const auto leases = claim_up_to(1, std::move(owner), {std::move(queue)});
  if (leases.size() != 1) throw std::runtime_error("nothing could be claimed");
  return leases.front();
}

Lease Contract::start(NewTask task, std::string owner) {
  const std::string queue = task.queue.empty() ? kQueue : task.queue;
  const TaskId id = submit(std::move(task));
  Lease lease = claim(std::move(owner), queue);
  if (lease.id != id) throw std::runtime_error("another task was claimed than the one just submitted");
  return lease;
}

SettleOutcome Contract::settle(const Settlement& said) { return value_of(tasks().settle(std::vector{said})).at(0); }

std::vector<Verdict> Contract::settle_all(const std::vector<Settlement>& said) {
  std::vector<Verdict> verdicts;
  for (const SettleOutcome& outcome : value_of(tasks().settle(said))) verdicts.push_back(outcome.verdict);
  return verdicts;
}

Verdict Contract::cancel(const TaskId& id, std::optional<std::string> reason) {
  return value_of(tasks().cancel(std::vector{CancelWish{.id = id, .reason = std::move(reason)}})).at(0).verdict;
}

void Contract::extend_leases() { EXPECT_TRUE(value_of(tasks().extend_leases(look().stamp))); }

ExpireOutcome Contract::expire(std::size_t max) {
  return value_of(tasks().expire_leases({.seen = look().stamp, .slack = kAnySilence, .max = max}));
}

std::vector<ExpiredLease> Contract::lose_leases() {
  extend_leases();
  advance(kDefaultLease + 1us);
  const ExpireOutcome outcome = expire();
  EXPECT_EQ(outcome.kind, ExpireOutcome::Kind::kDone);
  return outcome.expired;
}

std::optional<Task> Contract::find(const TaskId& id) { return value_of(tasks().get(std::vector{id})).at(0); }

Task Contract::get(const TaskId& id) {
  const auto task = find(id);
  if (!task) throw std::runtime_error("there is no task " + to_string(id));
  return *task;
}

HistoryEntry Contract::newest_entry_of(const TaskId& id) {
  const auto history = history_of(id);
  if (history.empty()) throw std::runtime_error("the history of " + to_string(id) + " is empty");
  return history.back();
}

std::vector<TaskId> Contract::ids_in(const ListQuery& query) {
  std::vector<TaskId> ids;
  for (const Task& task : list_all(query)) ids.push_back(task.id);
  return ids;
}

void Contract::configure(std::string_view queue, const QueueChange& change) {
  (void)value_of(queues().configure(queue, change));
}

std::optional<QueueInfo> Contract::find_queue(std::string_view name) {
  const QueueList list = value_of(queues().queues());
  for (const QueueInfo& info : list.queues) {
    if (info.name == name) return info;
  }
  return std::nullopt;
}

QueueInfo Contract::queue(std::string_view name) {
  const auto info = find_queue(name);
  if (!info) throw std::runtime_error("there is no queue " + std::string(name));
  return *info;
}

void together(int count, const std::function<void(int)>& body) {
  std::latch start(count);
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      fail_on_exception([&] { body(i); });
    });
  }
}

void race(std::size_t rounds, const std::function<void(std::size_t)>& one,
          const std::function<void(std::size_t)>& other) {
  std::barrier meeting(2);
  together(2, [&](int side) {
    for (std::size_t i = 0; i < rounds; ++i) {
      meeting.arrive_and_wait();
      fail_on_exception([&] { side == 0 ? one(i) : other(i); });
    }
  });
}

}  // namespace horae::testing
