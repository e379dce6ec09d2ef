#include "tests/chaos/chaos.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/random.h"
#include "base/waker.h"
#include "net/http_client.h"
#include "stores/postgres/postgres_store.h"
#include "tests/crash/judgement.h"
#include "tests/sim/checker.h"
#include "tests/support/cable.h"
#include "tests/support/postgres_server.h"
#include "tests/support/process.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kPatience = seconds(120);  // for all tasks to end after the last failure

void wait_for(Duration time) {
  Waker never_woken;
  (void)never_woken.wait(SystemClock().now() + time);
}

// A node on a port that it keeps across restarts, with its own cables to PostgreSQL and to the workers.
class ChaosNode {
 public:
  ChaosNode(std::string program, std::string log, const PostgresServer& server, const std::string& database)
      : program_(std::move(program)),
        log_(std::move(log)),
        cable_(server.port()),
        store_(fmt::format("postgresql://horae@127.0.0.1:{}/{}?connect_timeout=3", cable_.port(), database)),
        port_(free_port()),
        front_(port_) {}

  std::string url() const { return fmt::format("http://127.0.0.1:{}", front_.port()); }  // for workers
  Cable& cable() { return cable_; }                                                      // to PostgreSQL
  Cable& front() { return front_; }                                                      // to the workers

  void start() {
    const std::string command = fmt::format(
        "exec '{}' serve --store '{}' --http-listen 127.0.0.1:{} --slots-count 1 --log-level warn >> '{}' 2>&1",
        program_, store_, port_, log_);
    process_ = std::make_unique<Process>(std::vector<std::string>{"/bin/sh", "-c", command});
  }

  // Like a supervisor: restarts a node that has ended because it could not reach its store at start.
  void restart_if_ended() {
    if (process_ && process_->has_ended()) start();
  }

  void kill() {
    process_->send_signal(SIGKILL);
    (void)process_->wait();
    process_.reset();
  }

  bool is_started() const { return process_ != nullptr; }
  void send_signal(int signal) const {
    if (process_) process_->send_signal(signal);
  }

  bool is_ready() {
    const std::string url = fmt::format("http://127.0.0.1:{}/readyz", port_);
    const auto answer = http_.send({.url = url, .timeout = seconds(2)});
    return answer.ok() && answer->status == 200;
  }

 private:
  const std::string program_;
  const std::string log_;
  Cable cable_;
  const std::string store_;
  const int port_;
  Cable front_;
  HttpClient http_;
  std::unique_ptr<Process> process_;
};

class Chaos {
 public:
  Chaos(const ChaosOptions& options, std::ostream& log) : options_(options), out_(log), random_(options.seed) {
    for (int i = 0; i < options.nodes; ++i) {
      nodes_.push_back(std::make_unique<ChaosNode>(options.horae, folder_.path() + fmt::format("/node{}.log", i),
                                                   server_, database_));
    }
  }

  ChaosOutcome run() {
    for (const auto& node : nodes_) node->start();
    for (const auto& node : nodes_) wait_until("a node is ready", [&] { return node->is_ready(); });
    for (int i = 0; i < options_.workers; ++i) start_worker("work");
    const MonotonicTime end = clock_.now() + options_.duration;
    while (clock_.now() < end) {
      wait_for(milliseconds(between(300, 2'000)));
      strike();
      mend(clock_.now());
      for (const auto& node : nodes_) node->restart_if_ended();
    }
    recover();
    judge();
    require_trouble();
    if (!outcome_.violations.empty()) keep_logs();
    return std::move(outcome_);
  }

 private:
  int between(int low, int high) { return low + static_cast<int>(random_.unit() * (high - low + 1)); }
  void print(const std::string& line) { out_ << line << std::endl; }

  // ---- Trouble ----

  enum class Trouble {
    kKillNode,
    kCut,
    kKillWorker,
    kCutWorkers,
    kPauseNode,
    kPauseWorker,
    kBreakConnections,
    kOutage
  };

  // The first few are fixed, so that a short run includes the worst; the rest is random.
  Trouble next_trouble() {
    using enum Trouble;
    static constexpr std::array kFirst = {kKillNode, kCut, kKillWorker, kCutWorkers};
    static constexpr std::array kAny = {kKillNode,    kKillNode,         kCut,        kCut,
                                        kKillWorker,  kKillWorker,       kCutWorkers, kPauseNode,
                                        kPauseWorker, kBreakConnections, kOutage};
    const std::size_t number = strikes_++;
    if (number < kFirst.size()) return kFirst.at(number);
    return kAny.at(static_cast<std::size_t>(between(0, static_cast<int>(kAny.size()) - 1)));
  }

  void strike() {
    const std::size_t node = static_cast<std::size_t>(between(0, options_.nodes - 1));
    const std::size_t worker = static_cast<std::size_t>(between(0, options_.workers - 1));
    switch (next_trouble()) {
      case Trouble::kKillNode:
        return kill_node(node);
      case Trouble::kPauseNode:
        return pause_node(node);
      case Trouble::kCut:
        return cut(node);
      case Trouble::kKillWorker:
        return kill_worker(worker);
      case Trouble::kCutWorkers:
        return cut_workers(node);
      case Trouble::kPauseWorker:
        return pause_worker(worker);
      case Trouble::kBreakConnections:
        return break_connections(node);
      case Trouble::kOutage:
        return stop_postgres();
    }
  }

  void kill_node(std::size_t index) {
    ChaosNode& node = *nodes_[index];
    if (!node.is_started()) return;
    print(fmt::format("node {} is killed", index));
    ++outcome_.node_kills;
    node.kill();
    later(milliseconds(between(0, 3'000)), [&node] { node.start(); });
  }

  void pause_node(std::size_t index) {
    print(fmt::format("node {} is paused", index));
    ++outcome_.node_pauses;
    nodes_[index]->send_signal(SIGSTOP);
    later(milliseconds(between(200, 6'000)), [this, index] { nodes_[index]->send_signal(SIGCONT); });
  }

  void cut(std::size_t index) {
    print(fmt::format("node {} is cut off from PostgreSQL", index));
    ++outcome_.cuts;
    nodes_[index]->cable().cut();
    later(milliseconds(between(200, 5'000)), [this, index] { nodes_[index]->cable().mend(); });
  }

  void cut_workers(std::size_t index) {
    const bool breaks = random_.unit() < 0.5;
    print(fmt::format("the workers are cut off from node {}{}", index,
                      breaks ? ": connections are reset" : ": packets are lost"));
    ++outcome_.worker_cuts;
    Cable& wire = nodes_[index]->front();
    if (breaks) return wire.break_connections();
    wire.cut();
    later(milliseconds(between(200, 5'000)), [&wire] { wire.mend(); });
  }

  void break_connections(std::size_t index) {
    print(fmt::format("the connections of node {} break", index));
    ++outcome_.cuts;
    nodes_[index]->cable().break_connections();
  }

  void kill_worker(std::size_t index) {
    print(fmt::format("worker {} is killed", index));
    ++outcome_.worker_kills;
    workers_[index]->kill();
    start_worker("work");
    std::swap(workers_[index], workers_.back());
    workers_.pop_back();
  }

  void pause_worker(std::size_t index) {
    print(fmt::format("worker {} is paused", index));
    ++outcome_.worker_pauses;
    const std::shared_ptr<RunningWorker> worker = workers_[index];
    worker->send_signal(SIGSTOP);
    later(milliseconds(between(500, 6'000)), [worker] { worker->send_signal(SIGCONT); });
  }

  void stop_postgres() {
    const bool hard = random_.unit() < 0.5;
    print(hard ? "PostgreSQL is killed" : "PostgreSQL is stopped");
    ++outcome_.outages;
    if (hard) {
      server_.kill_hard();
    } else {
      server_.stop();
    }
    wait_for(milliseconds(between(0, 6'000)));
    server_.start();
    print("PostgreSQL is back");
  }

  // ---- Repair ----

  void later(Duration delay, std::function<void()> what) { mends_.emplace(clock_.now() + delay, std::move(what)); }

  void mend(MonotonicTime now) {
    while (!mends_.empty() && mends_.begin()->first <= now) {
      const auto what = std::move(mends_.begin()->second);
      mends_.erase(mends_.begin());
      what();
    }
  }

  void wait_until(const std::string& what, const std::function<bool()>& holds) {
    const MonotonicTime end = clock_.now() + kPatience;
    while (!holds()) {
      if (clock_.now() > end) {
        outcome_.violations.push_back("unfinished: not within two minutes after the last failure: " + what);
        return;
      }
      wait_for(milliseconds(100));
    }
  }

  void start_worker(const std::string& role) {
    logs_.push_back(std::make_unique<WorkerLog>());
    std::vector<std::string> argv = {options_.worker, role};
    for (const auto& node : nodes_) argv.push_back(node->url());
    workers_.push_back(std::make_shared<RunningWorker>(argv, *logs_.back()));
  }

  // Repairs everything and submits nothing more: all tasks must end.
  void recover() {
    print("all failures are repaired; waiting for the tasks to end");
    mend(MonotonicTime::max());
    for (const auto& node : nodes_) {
      wait_until("each node is ready again", [&] {
        node->restart_if_ended();
        return node->is_ready();
      });
    }
    for (const auto& worker : workers_) worker->kill();
    workers_.clear();
    start_worker("drain");
    store_ = std::move(open_postgres_store(server_.url(database_))).value();
    wait_until("all tasks have ended", [&] { return living() == 0; });
    workers_.clear();  // kills them; the lines that they printed count
  }

  std::int64_t living() {
    const auto list = store_->queues().queues();
    if (!list.ok()) return -1;
    std::int64_t living = 0;
    for (const QueueInfo& queue : list->queues) {
      if (queue.name == "chaos") living += queue.scheduled + queue.ready + queue.running;
    }
    return living;
  }

  // A run without failures proves nothing.
  void require_trouble() {
    for (const auto& [count, what] : {std::pair(outcome_.node_kills, "no node was killed"),
                                      std::pair(outcome_.worker_kills, "no worker was killed"),
                                      std::pair(outcome_.cuts, "no node was cut off from PostgreSQL"),
                                      std::pair(outcome_.worker_cuts, "no worker was cut off from a node")}) {
      if (count == 0) outcome_.violations.push_back(std::string("too calm: ") + what);
    }
  }

  void keep_logs() {
    namespace fs = std::filesystem;
    std::error_code failed;
    fs::remove_all(options_.logs, failed);
    fs::copy(folder_.path(), options_.logs, fs::copy_options::recursive, failed);
    print(failed ? "the logs of the nodes could not be copied: " + failed.message()
                 : "the logs of the nodes are in " + fs::absolute(options_.logs).string());
  }

  void judge() {
    WorkerLog all;
    for (const auto& each : logs_) {
      auto& records = each->history.records;
      std::move(records.begin(), records.end(), std::back_inserter(all.history.records));
      outcome_.submitted += each->submitted;
      outcome_.completed += each->completed;
      outcome_.unavailable += each->unavailable;
      if (!each->broken.empty()) outcome_.violations.push_back("broken: " + each->broken);
    }
    outcome_.attempts = static_cast<std::size_t>(std::ranges::count_if(
        all.history.records, [](const sim::Record& each) { return std::holds_alternative<sim::Claimed>(each.what); }));
    complete_history(*store_, all, Counts::kMayLag);
    for (const sim::Violation& each : sim::check(all.history)) {
      outcome_.violations.push_back(each.rule + ": " + each.text);
    }
  }

  const ChaosOptions options_;
  std::ostream& out_;
  SeededRandom random_;
  SystemClock clock_;
  TemporaryFolder folder_;
  PostgresServer server_;
  const std::string database_ = name_of(server_.make_database());
  std::vector<std::unique_ptr<ChaosNode>> nodes_;
  std::vector<std::unique_ptr<WorkerLog>> logs_;  // of every worker, including killed ones
  std::vector<std::shared_ptr<RunningWorker>> workers_;
  std::multimap<MonotonicTime, std::function<void()>> mends_;
  std::unique_ptr<Store> store_;
  std::size_t strikes_ = 0;
  ChaosOutcome outcome_;

  static std::string name_of(const std::string& url) { return url.substr(url.rfind('/') + 1); }
};

}  // namespace

ChaosOutcome run_chaos(const ChaosOptions& options, std::ostream& log) { return Chaos(options, log).run(); }

}  // namespace horae::testing
