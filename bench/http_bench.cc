// http_bench [PART...]: the cost of HTTP compared with an empty handler and with the store alone.
//
// Each figure and its yardstick alternate in one run, because the machine and its disk are noisy: a ratio is computed for
// each pair, and the median of the ratios is the result. The clients run on the same processors as the server.

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "api/api.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "base/waker.h"
#include "bench/folder.h"
#include "bench/http_client.h"
#include "bench/measure.h"
#include "bench/rest_bodies.h"
#include "engine/claims/claimer.h"
#include "engine/runner.h"
#include "engine/wake_ups.h"
#include "http/server.h"
#include "observe/observation.h"
#include "store/combiner.h"
#include "stores/sqlite/sqlite_store.h"

namespace horae::bench {
namespace {

constexpr int kPairs = 5;
constexpr int kSubmitPairs = 15;  // these depend most on the noisy disk
constexpr int kBatch = 100;
constexpr int kBatches = 60;
constexpr double kSeconds = 1.0;
const std::string kSpec = R"({"order":"233","text":")" + std::string(174, 'x') + "\"}";  // 200 bytes

// A node as `horae serve` composes it, without the loops that the measured calls do not need.
class Node final : private ChangeObserver {
 public:
  explicit Node(const std::string& url)
      : store_(open_sqlite_store(url, clock_).value()),
        log_(std::cerr, clock_, {.level = LogLevel::kWarn}),
        combiner_(observed_.store().tasks()),
        claimer_(
            combiner_, observed_.store().tasks(), log_, [this] { waker_.wake(); }, {}, observed_.metrics()),
        api_({.combiner = combiner_,
              .tasks = observed_.store().tasks(),
              .queues = observed_.store().queues(),
              .schedules = observed_.store().schedules(),
              .access = observed_.store().tokens(),
              .cluster = observed_.store().cluster(),
              .events = observed_.events(),
              .claimer = claimer_,
              .clock = clock_,
              .random = random_,
              .ids = ids_,
              .metrics = observed_.metrics(),
              .node = "worker-0",
              .log = log_}),
        runner_(clock_, log_),
        server_({.listen = {"127.0.0.1:0"}}, clock_, log_, [this](HttpRequest request, const Responder& responder) {
          if (request.path == "/empty") return responder.answer({.status = 200, .body = "{}"});
          api_.handle(std::move(request), responder);
        }) {
    observed_.add(*this);
    runner_.add(claimer_, waker_);
    combiner_.start();
    runner_.start();
    api_.start();
    HORAE_CHECK(server_.start().ok(), "a free port is free");
  }

  ~Node() override {
    api_.end_waits();
    server_.stop(std::chrono::seconds(10));
    api_.stop();
    runner_.stop();
    combiner_.stop();
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  std::uint16_t port() const { return server_.port(); }
  TaskStore& tasks() { return store_->tasks(); }
  Uuid new_id() { return ids_.next(); }

 private:
  void on_changes(std::span<const Change> changes) override { claimer_.on_wake_ups(wake_ups_of(changes)); }

  SystemClock clock_;
  SystemRandom random_;
  UuidSource ids_{clock_, random_};
  std::unique_ptr<Store> store_;
  Observation observed_{*store_, clock_};
  Logger log_;
  Waker waker_;
  Combiner combiner_;
  Claimer claimer_;
  Api api_;
  Runner runner_;
  HttpServer server_;
};

using Results = std::vector<std::pair<std::string, double>>;

// Single durable submits on 64 connections, compared with an empty handler on the same server.
void measure_single_submits(Folder& folder, Results& results) {
  const std::string task = R"({"queue":"bench","spec":)" + kSpec + "}";
  const std::string submit = post_request("/v1/tasks", task);
  const std::string empty = post_request("/empty", task);
  std::vector<double> empty_rate, submit_rate, ratio;
  for (int pair = 0; pair < kSubmitPairs; ++pair) {
    Node node("sqlite:" + folder.new_file());
    const Load load{.port = node.port(), .seconds = kSeconds};
    empty_rate.push_back(requests_per_second(load, [&](int) { return empty; }));
    submit_rate.push_back(requests_per_second(load, [&](int) { return submit; }));
    ratio.push_back(submit_rate.back() / empty_rate.back());
  }
  results.emplace_back("http.empty.per_s", spread_of(empty_rate).median);
  results.emplace_back("http.submit1.per_s", spread_of(submit_rate).median);
  results.emplace_back("http.submit1.vs_empty", spread_of(ratio).median);
}

// Seconds for submits alone, and for whole lives.
struct Times {
  double submit = 0;
  double life = 0;
};

Times run_over_http(Node& node) {
  BlockingClient client(node.port());
  const std::string submit = post_request("/v1/tasks/batch", batch_body(kBatch, kSpec));
  const std::string claim =
      post_request("/v1/claim", fmt::format(R"({{"owner":"worker-1","queues":["bench"],"max":{}}})", kBatch));
  Times times;
  for (int i = 0; i < kBatches; ++i) {
    const Stopwatch watch;
    (void)client.call(submit);
    times.submit += watch.read().wall_s;
    const std::string claimed = client.call(claim);
    times.life += watch.read().wall_s;
    const std::string body = settle_body(claimed, "worker-1");  // not measured: the worker's own time
    HORAE_CHECK(std::ranges::count(body, '}') == 2 * kBatch + 1, "every task must be claimed");
    const std::string settle = post_request("/v1/settle", body);
    const Stopwatch settling;
    (void)client.call(settle);
    times.life += settling.read().wall_s;
  }
  return times;
}

Times run_on_store(Node& node) {
  Times times;
  for (int i = 0; i < kBatches; ++i) {
    std::vector<Submission> submissions;
    for (int j = 0; j < kBatch; ++j) {
      submissions.push_back(
          {.task = {.queue = "bench", .priority = 50 + j % 4, .spec = kSpec}, .new_id = node.new_id()});
    }
    const Stopwatch watch;
    HORAE_CHECK(node.tasks().submit(submissions).ok(), "submit");
    times.submit += watch.read().wall_s;
    const std::vector<ClaimWish> wishes = {
        {.owner = "worker-1", .queues = {"bench"}, .max = kBatch, .token = node.new_id()}};
    const auto leased = std::move(node.tasks().claim(wishes).value().at(0).tasks);
    std::vector<Settlement> completions;
    for (const LeasedTask& task : leased) {
      completions.push_back({.event = Event::kComplete,
                             .id = task.id,
                             .number = task.number,
                             .attempt = task.attempt,
                             .owner = "worker-1",
                             .result = "{}"});
    }
    HORAE_CHECK(node.tasks().settle(completions).ok(), "settle");
    times.life += watch.read().wall_s;
  }
  return times;
}

void measure_batches(Folder& folder, Results& results) {
  const double tasks = static_cast<double>(kBatch) * kBatches;
  std::vector<double> submit_rate, submit_ratio, life_rate, life_ratio;
  for (int pair = 0; pair < kPairs; ++pair) {
    Node first("sqlite:" + folder.new_file());
    const Times http = run_over_http(first);
    Node second("sqlite:" + folder.new_file());
    const Times store = run_on_store(second);
    submit_rate.push_back(tasks / http.submit);
    submit_ratio.push_back(store.submit / http.submit);
    life_rate.push_back(tasks / http.life);
    life_ratio.push_back(store.life / http.life);
  }
  results.emplace_back("http.batch100.per_s", spread_of(submit_rate).median);
  results.emplace_back("http.batch100.vs_store", spread_of(submit_ratio).median);
  results.emplace_back("http.life100.per_s", spread_of(life_rate).median);
  results.emplace_back("http.life100.vs_store", spread_of(life_ratio).median);
}

// From a submit to the response that a waiting worker gets, one at a time.
void measure_pickup(Folder& folder, Results& results) {
  constexpr int kTasks = 300;
  Node node("sqlite:" + folder.new_file());
  BlockingClient client(node.port());
  BlockingClient worker(node.port());
  const std::string claim = post_request("/v1/claim", R"({"owner":"worker-1","queues":["bench"],"wait":"30s"})");
  const std::string submit = post_request("/v1/tasks", R"({"queue":"bench","spec":1})");
  std::vector<double> milliseconds;
  for (int i = 0; i < kTasks; ++i) {
    std::thread waiting([&] { (void)worker.call(claim); });
    while (client.call("GET /v1/scheduler HTTP/1.1\r\nHost: localhost\r\n\r\n").find(R"("waiting_workers":1)") ==
           std::string::npos) {
    }
    const Stopwatch watch;
    (void)client.call(submit);
    waiting.join();
    milliseconds.push_back(watch.read().wall_s * 1e3);
  }
  std::ranges::sort(milliseconds);
  results.emplace_back("http.pickup.sqlite.p50_ms", milliseconds[kTasks / 2]);
  results.emplace_back("http.pickup.sqlite.p99_ms", milliseconds[kTasks * 99 / 100]);
}

}  // namespace
}  // namespace horae::bench

int main(int count, char** arguments) {
  using namespace horae::bench;  // NOLINT(google-build-using-namespace): a program of one file
  const std::vector<std::string> wanted(arguments + 1, arguments + count);
  const auto is_wanted = [&](const char* part) {
    return wanted.empty() || std::ranges::find(wanted, part) != wanted.end();
  };
  Folder folder;
  Results results;
  if (is_wanted("submit")) measure_single_submits(folder, results);
  if (is_wanted("batch")) measure_batches(folder, results);
  if (is_wanted("pickup")) measure_pickup(folder, results);
  for (const auto& [name, value] : results) print_result(name, value);
  return 0;
}
