#include "bench/live_workers.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "api/access/new_token.h"
#include "base/check.h"
#include "bench/measure.h"

namespace horae::bench {

const std::string kSpecOfBench = R"({"order":"233","text":")" + std::string(174, 'x') + "\"}";

void pass(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

double lives_per_second(int threads, double seconds,
                        const std::function<long(int place, const std::atomic<bool>& stop)>& work) {
  std::atomic<bool> stop = false;
  std::atomic<long> lives = 0;
  std::vector<std::thread> running;
  const Stopwatch watch;
  for (int i = 0; i < threads; ++i) running.emplace_back([&, i] { lives += work(i, stop); });
  pass(seconds);
  stop = true;
  for (std::thread& thread : running) thread.join();
  return static_cast<double>(lives) / watch.read().wall_s;
}

// ---- Over REST ----

Place::Place(const std::string& url) : node(url, false) {
  SystemRandom random;
  token = create_token(node.store().tokens(), random,
                       {.name = "workers", .role = Role::kWork, .scope = QueueScope::of({"bench"}).value()})
              .value()
              .secret;
  pass(1.5);  // until the node has read it
}

std::string Place::post(const std::string& target, const std::string& body) const {
  return post_request(target, body, token);
}

std::string register_worker(const Place& place, BlockingClient& client) {
  const std::string answer = client.call(place.post("/v1/workers", "{}"));
  constexpr std::string_view kId = R"("id":")";
  const std::size_t at = answer.find(kId) + kId.size();
  return answer.substr(at, answer.find('"', at) - at);
}

RestWorker::RestWorker(const Place& place)
    : place_(place), client_(place.node.port()), owner_(register_worker(place, client_)) {}

void RestWorker::submit(int count) {
  (void)client_.call(post_request("/v1/tasks/batch", batch_body(count, kSpecOfBench)));
}

long RestWorker::exchange(int max) {
  const std::vector<HeldTask> done = std::exchange(held_, {});
  const std::string body = exchange_body(owner_, done, running_, max, to_string(ids_.next()));
  held_ = held_tasks(client_.call(place_.post("/v1/exchange", body)));
  return static_cast<long>(done.size());
}

long RestWorker::settle_and_claim(int max, bool own_token) {
  const auto done = static_cast<long>(held_.size());
  if (!held_.empty()) (void)client_.call(place_.post("/v1/settle", settle_body(answer_, owner_)));
  const std::string token = own_token ? fmt::format(R"(,"token":"{}")", to_string(ids_.next())) : "";
  const std::string claim = fmt::format(R"({{"owner":"{}","queues":["bench"],"max":{}{}}})", owner_, max, token);
  answer_ = client_.call(place_.post("/v1/claim", claim));
  held_ = held_tasks(answer_);
  return done;
}

void RestWorker::hold_long_tasks(int count) {
  submit(count);
  (void)exchange(count);
  running_ = std::exchange(held_, {});
}

// ---- On a store ----

void StoreWorker::submit(int count) {
  std::vector<Submission> batch;
  for (int i = 0; i < count; ++i) {
    batch.push_back({.task = {.queue = "bench", .priority = 50 + i % 4, .spec = kSpecOfBench}, .new_id = ids_.next()});
  }
  HORAE_CHECK(tasks_.submit(batch).ok(), "submit");
}

long StoreWorker::exchange(int max) {
  std::vector<Settlement> settlements;
  for (const LeasedTask& task : held_) settlements.push_back(settlement(task, Event::kComplete));
  for (const LeasedTask& task : running_) settlements.push_back(settlement(task, Event::kHeartbeat));
  const auto done = static_cast<long>(held_.size());
  const std::vector<ClaimWish> wishes = {
      {.owner = owner_, .queues = {"bench"}, .max = max, .token = ids_.next(), .once = true}};
  auto outcome = tasks_.exchange({.settlements = settlements, .submissions = {}, .wishes = wishes}).value();
  for (const SettleOutcome& each : outcome.settled) HORAE_CHECK(each.verdict == Verdict::kAccepted, "settle");
  held_ = std::move(outcome.leased.at(0).tasks);
  return done;
}

void StoreWorker::hold_long_tasks(int count) {
  submit(count);
  (void)exchange(count);
  running_ = std::exchange(held_, {});
}

Settlement StoreWorker::settlement(const LeasedTask& task, Event event) const {
  Settlement said{
      .event = event, .id = task.id, .number = task.number, .attempt = task.attempt, .owner = owner_, .scope = scope_};
  if (event == Event::kComplete) said.result = "{}";
  return said;
}

}  // namespace horae::bench
