// The second half of make bench/http: whole nodes on one PostgreSQL. Measures the latency from a submit at one node to a
// waiting worker at the same or another node, the cost of an idle node, and the throughput of three nodes against one.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "bench/http_client.h"
#include "bench/measure.h"
#include "bench/rest_bodies.h"
#include "bench/whole_node.h"
#include "tests/support/postgres_server.h"

namespace horae::bench {
namespace {

constexpr int kBatch = 100;
constexpr int kRounds = 5;
constexpr int kPickups = 300;
constexpr double kIdleSeconds = 30;

using Results = std::vector<std::pair<std::string, double>>;

void pass(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// ---- Pickup ----

// Milliseconds from a submit to the response that a waiting worker gets, one at a time.
std::vector<double> pickups(std::uint16_t submit_at, std::uint16_t wait_at) {
  BlockingClient client(submit_at);
  BlockingClient worker(wait_at);
  BlockingClient observer(wait_at);
  const std::string claim = post_request("/v1/claim", R"({"owner":"worker-w","queues":["bench"],"wait":"30s"})");
  const std::string submit = post_request("/v1/tasks", R"({"queue":"bench","spec":1})");
  const std::string status = "GET /v1/scheduler HTTP/1.1\r\nHost: localhost\r\n\r\n";
  // The node's own slots wait as well: one more than before is this worker.
  const auto waiting = [&] {
    const std::string answer = observer.call(status);
    const std::size_t at = answer.find(R"("waiting_workers":)");
    return std::stoi(answer.substr(at + 18));
  };
  const int before = waiting();
  std::vector<double> milliseconds;
  for (int i = 0; i < kPickups; ++i) {
    std::thread waits([&] { (void)worker.call(claim); });
    while (waiting() == before) pass(0.0005);
    pass(0.002);  // low load: by then the claim that found nothing has ended
    const Stopwatch watch;
    (void)client.call(submit);
    waits.join();
    milliseconds.push_back(watch.read().wall_s * 1e3);
  }
  std::ranges::sort(milliseconds);
  return milliseconds;
}

void measure_pickup(testing::PostgresServer& server, Results& results) {
  const std::string url = server.make_database();
  const WholeNode one(url);
  const auto same = pickups(one.port(), one.port());
  const WholeNode two(url);
  pass(3);  // until the nodes have discovered each other
  const auto other = pickups(one.port(), two.port());
  results.emplace_back("http.pickup.pg.p50_ms", same[kPickups / 2]);
  results.emplace_back("http.pickup.pg.p99_ms", same[kPickups * 99 / 100]);
  results.emplace_back("http.pickup.pg2nodes.p50_ms", other[kPickups / 2]);
  results.emplace_back("http.pickup.pg2nodes.p99_ms", other[kPickups * 99 / 100]);
}

// ---- Idle ----

// All statements of all sessions in the node's database, including BEGIN and COMMIT.
void measure_idle(Results& results) {
  testing::PostgresServer server{{.settings = {"shared_preload_libraries = 'pg_stat_statements'"}}};
  server.run_sql("create extension pg_stat_statements");
  const std::string url = server.make_database();
  const std::string database = url.substr(url.rfind('/') + 1);
  const WholeNode node(url);
  pass(5);
  const auto statements = [&] {
    return std::stod(server.run_sql(
        fmt::format("select coalesce(sum(calls), 0) from pg_stat_statements join pg_database on dbid = pg_database.oid"
                    " where datname = '{}'",
                    database)));
  };
  const double before = statements();
  const Stopwatch watch;
  pass(kIdleSeconds);
  const Spent spent = watch.read();
  results.emplace_back("http.idle.queries_per_s", (statements() - before) / spent.wall_s);
  results.emplace_back("http.idle.cpu_share", spent.cpu_s / spent.wall_s);
}

// ---- Three nodes ----

// Lives per second by three clients, each with its own node, or all with the same node.
double lives_per_second(const std::vector<std::uint16_t>& ports, double seconds) {
  std::atomic<bool> stop = false;
  std::atomic<int> batches = 0;
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    clients.emplace_back([&, i] {
      BlockingClient client(ports[i]);
      const std::string owner = fmt::format("worker-c{}", i);
      const std::string submit = post_request("/v1/tasks/batch", batch_body(kBatch, R"({"n":1})"));
      const std::string claim =
          post_request("/v1/claim", fmt::format(R"({{"owner":"{}","queues":["bench"],"max":{}}})", owner, kBatch));
      while (!stop) {
        (void)client.call(submit);
        const std::string body = settle_body(client.call(claim), owner);
        if (body.empty()) continue;
        (void)client.call(post_request("/v1/settle", body));
        ++batches;
      }
    });
  }
  const Stopwatch watch;
  pass(seconds);
  stop = true;
  for (std::thread& client : clients) client.join();
  return batches * kBatch / watch.read().wall_s;
}

void measure_three(testing::PostgresServer& server, Results& results) {
  const std::string url = server.make_database();
  const WholeNode one(url), two(url), three(url);
  std::vector<double> alone, together, ratio;
  for (int round = 0; round < kRounds; ++round) {
    alone.push_back(lives_per_second({one.port(), one.port(), one.port()}, 2));
    together.push_back(lives_per_second({one.port(), two.port(), three.port()}, 2));
    ratio.push_back(together.back() / alone.back());
  }
  results.emplace_back("http.nodes1.per_s", spread_of(alone).median);
  results.emplace_back("http.nodes3.per_s", spread_of(together).median);
  results.emplace_back("http.nodes3.vs_1", spread_of(ratio).median);
}

}  // namespace
}  // namespace horae::bench

int main() {
  using namespace horae::bench;  // NOLINT(google-build-using-namespace): a program of one file
  Results results;
  horae::testing::PostgresServer server;
  measure_pickup(server, results);
  measure_idle(results);
  measure_three(server, results);
  for (const auto& [name, value] : results) print_result(name, value);
  return 0;
}
