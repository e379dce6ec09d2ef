// A node for tests of routes: an SQLite store in memory, the claimer on a thread of its own, and a real server. Clocks
// advance only when the test says so.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/api.h"
#include "api/test_store.h"
#include "base/bounded_queue.h"
#include "http/test_client.h"
#include "http/test_server.h"
#include "observe/observation.h"
#include "store/store.h"

namespace horae::testing {

// The delay queues "orders", "payments" and "mail.in", without a relay behind them. `puts` counts the calls of on_put().
class TestDelayQueues final : public DelayQueues {
 public:
  std::vector<RelayStatus> status() const override { return {of("payments"), of("orders"), of("mail.in")}; }
  std::optional<RelayStatus> status(std::string_view queue) const override {
    if (queue != "orders" && queue != "payments" && queue != "mail.in") return std::nullopt;
    return of(queue);
  }
  void on_put(std::string_view /*queue*/) override { ++puts; }

  std::atomic<int> puts = 0;

 private:
  static RelayStatus of(std::string_view queue) {
    RelayStatus status;
    status.queue = queue;
    status.fired = 3;
    status.bad = {{"no_id", 2}};
    status.lateness_p50 = std::chrono::milliseconds(2);
    status.output.problem = "topic orders.out does not exist";
    return status;
  }
};

class ApiWorld final : private ChangeObserver {
 public:
  explicit ApiWorld(ApiOptions options = {}, CombinerOptions combiner = {}, HttpLimits limits = {});
  ~ApiWorld() override;
  ApiWorld(const ApiWorld&) = delete;
  ApiWorld& operator=(const ApiWorld&) = delete;

  // One request on a connection that is kept open. Records the status for seen().
  TestResponse call(std::string_view method, std::string_view target, std::string_view body = {},
                    std::string_view headers = {});
  TestResponse get(std::string_view target) { return call("GET", target); }
  TestResponse post(std::string_view target, std::string_view body = {}) { return call("POST", target, body); }

  TestClient connect() { return TestClient(server_.port()); }
  HttpServer& server() { return *server_.operator->(); }

  // The id of a new task.
  std::string submit(std::string_view queue = "mail", std::string_view more = {});

  // The answer to a claim without a wait.
  TestResponse claim(std::string_view queue = "mail", int max = 1);

  // {"event":..,"id":..,"attempt":..,"owner":"worker-1" ...} in a settle call of one.
  TestResponse settle(std::string_view event, std::string_view id, int attempt, std::string_view more = {});

  // Advances the clocks of the store and the node.
  void advance(Duration by);

  // Waits until that many workers are waiting for tasks and the claimer has tried to serve them.
  void wait_for_waiting(std::size_t count);

  // The same, for workers that arrive while the gate blocks the claimer.
  void wait_for_arrivals(std::size_t count);

  // What a node does once a second, after a pause that makes the last check old.
  void check_readiness() {
    clock_.advance(std::chrono::seconds(2));
    (void)api_.readiness().run_once(clock_.now());
  }

  // Waits until the server has that many connections.
  void wait_for_connections(std::size_t count);

  // Counts calls of the store that made such changes.
  struct Changed {
    std::atomic<int> scheduled = 0, cancelled = 0, control = 0, tokens = 0;
  };
  const Changed& changed() const { return changed_; }

  // The slots that the node reports; set it before the request.
  DispatcherStatus& status() { return status_; }
  const Clock& clock() const { return clock_; }

  // The holder of every token, whatever its text, and how long it must wait; change them between two calls.
  std::optional<Principal>& caller() { return caller_; }
  std::optional<Duration>& throttle() { return throttle_; }

  // Takes the rights of all callers away that were admitted before; the API notices it with end_revoked().
  void revoke() { is_revoked_ = true; }

  TestDelayQueues& delay_queues() { return delay_queues_; }

  StoreGate& gate() { return gate_; }
  Store& store() { return *store_; }
  EventRing& events() { return observed_.events(); }
  Api& api() { return api_; }
  Metrics& metrics() { return observed_.metrics(); }
  void stop();
  std::string said() const { return said_.str(); }  // after stop(): the log

  // Statuses seen so far, by "METHOD PATTERN".
  const std::map<std::string, std::set<int>>& seen() const { return seen_; }

 private:
  void on_changes(std::span<const Change> changes) override;
  void run_claimer();
  void wake() { (void)wakes_.try_push(true); }

  ManualClock store_clock_;
  ManualClock clock_;
  SeededRandom random_{1};
  UuidSource ids_{store_clock_, random_};
  std::ostringstream said_;
  Changed changed_;
  std::optional<Principal> caller_;
  std::optional<Duration> throttle_;
  std::atomic<bool> is_revoked_ = false;
  DispatcherStatus status_;
  TestDelayQueues delay_queues_;
  std::unique_ptr<Store> store_;
  StoreGate gate_;
  GatedStore gated_;
  Observation observed_;
  BoundedQueue<bool> wakes_{1};
  std::mutex pass_mutex_;  // held while the claimer runs
  Combiner combiner_;
  Claimer claimer_;
  Api api_;
  TestServer server_;
  std::thread claimer_thread_;
  std::optional<TestClient> client_;
  std::map<std::string, std::set<int>> seen_;
  bool is_stopped_ = false;
};

// The member of a JSON object as its bytes, "" if there is none: member(body, "state") == "\"ready\"".
std::string member(std::string_view json, std::string_view name);

// The text of a member that is a string.
std::string text_of(std::string_view json, std::string_view name);

// The elements of a member that is an array.
std::vector<std::string> items_of(std::string_view json, std::string_view name);

// The name of the problem that the answer is: "stale_attempt".
std::string problem_of(const TestResponse& response);

}  // namespace horae::testing
