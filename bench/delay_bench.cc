// delay_bench [--short] [--waiting N] [--rate N]: the delay queue as real processes between real topics, beside bare librdkafka.
//
// Producer, consumer, Kafka, PostgreSQL and nodes share this machine. Without --short it takes about ten minutes, and with
// --waiting 10000000 it also fills the table with so many messages that are far from due.

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "bench/delay_load.h"
#include "bench/folder.h"
#include "bench/measure.h"
#include "bench/postgres_meter.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/postgres_server.h"

namespace horae::bench {
namespace {

struct Options {
  bool is_short = false;
  long waiting = 0;
  int rate = 0;  // one run at that rate, and no more
};

// One server for all; each run has a database and topics of its own.
class Bench {
 public:
  explicit Bench(Options options) : options_(options) {}

  void run() {
    if (options_.rate > 0) {
      (void)run_once({.store = postgres_.make_database()}, options_.rate);
      return;
    }
    print_result("delay.floor.per_s", measure_floor(kafka_, options_.is_short ? 50'000 : 500'000));
    measure_saturation();
    measure_lateness(100);
    measure_lateness(1'000);
    measure_lateness(5'000);
    measure_costs();
    measure_idle();
    if (!options_.is_short) measure_held_snapshot();
    if (options_.waiting > 0) measure_waiting();
    print_result("delay.early_beyond_advance", static_cast<double>(early_));
    print_result("delay.missing", static_cast<double>(missing_));
    print_result("delay.duplicates", static_cast<double>(duplicates_));
  }

 private:
  Load load(int per_s) const {
    if (options_.is_short) {
      return {.per_s = per_s,
              .sending = Milliseconds(8'000),
              .soonest = Milliseconds(1'000),
              .latest = Milliseconds(3'000)};
    }
    return {.per_s = per_s, .sending = Milliseconds(25'000)};
  }

  LoadResult run_once(const DelayPlan& plan, int per_s) {
    const DelayNodes nodes(kafka_, plan);
    LoadResult result = run_load(kafka_, nodes, load(per_s));
    missing_ += result.missing;
    duplicates_ += result.duplicates;
    if (plan.advance == "50ms") early_ += result.early;
    fmt::print(
        "  {:>6} per s, {} node(s), advance {}: {:.0f} per s out, late p50 {:.0f} p99 {:.0f} p99.9 {:.0f} ms, {} "
        "missing, {} twice\n",
        per_s, plan.nodes, plan.advance, result.received_per_s, result.lateness_at(0.5), result.lateness_at(0.99),
        result.lateness_at(0.999), result.missing, result.duplicates);
    std::fflush(stdout);
    return result;
  }

  // The highest output of a rising input; the flow stops rising with it once a run ends with messages half a second late.
  struct Saturation {
    double per_s = 0;
    int input = 0;  // that saturates
  };
  Saturation saturate(const DelayPlan& plan_of_store, bool with_new_database) {
    Saturation best;
    for (int per_s = 4'000; per_s <= 64'000; per_s = per_s * 5 / 4) {
      DelayPlan plan = plan_of_store;
      if (with_new_database) plan.store = postgres_.make_database();
      const LoadResult result = run_once(plan, per_s);
      best.input = per_s;
      best.per_s = std::max(best.per_s, result.received_per_s);
      if (result.lateness_at(0.99) > 500 || result.received_per_s < 0.95 * per_s) break;
    }
    return best;
  }

  void measure_saturation() {
    const Saturation one = saturate({}, true);
    print_result("delay.sat1.per_s", one.per_s);
    if (options_.is_short) return;
    print_result("delay.sat2.vs_sat1", saturate({.nodes = 2}, true).per_s / one.per_s);
    const LoadResult over = run_once({.store = postgres_.make_database()}, 2 * one.input);
    print_result("delay.overload2x.vs_sat", over.received_per_s / one.per_s);
    Folder folder;
    const double sqlite = saturate({.store = "sqlite:" + folder.new_file()}, false).per_s;
    print_result("delay.sqlite.sat1.per_s", sqlite);
  }

  void measure_lateness(int per_s) {
    const LoadResult result = run_once({.store = postgres_.make_database(), .advance = "auto"}, per_s);
    print_result(fmt::format("delay.r{}.p50_ms", per_s), result.lateness_at(0.5));
    print_result(fmt::format("delay.r{}.p99_ms", per_s), result.lateness_at(0.99));
    print_result(fmt::format("delay.r{}.p999_ms", per_s), result.lateness_at(0.999));
  }

  void measure_costs() {
    PostgresMeter meter(postgres_.url(), postgres_.pid());
    const ServerSpent before = meter.read();
    const LoadResult result = run_once({.store = postgres_.make_database()}, options_.is_short ? 1'000 : 5'000);
    const ServerSpent spent = meter.read() - before;
    print_result("delay.wal_per_message", spent.wal_bytes / static_cast<double>(result.sent));
    print_result("delay.server_us_per_message", spent.cpu_s * 1e6 / static_cast<double>(result.sent));
  }

  double transactions_of_idle_node(const DelayPlan& plan, const std::string& database) {
    const DelayNodes nodes(kafka_, plan);
    const auto count = [&] {
      return std::stod(postgres_.run_sql("select xact_commit + xact_rollback from pg_stat_database where datname = '" +
                                         database + "'"));
    };
    std::this_thread::sleep_for(std::chrono::seconds(5));
    const double before = count();
    const int seconds = options_.is_short ? 5 : 30;
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    return (count() - before) / seconds;
  }

  // Of a node with a delay queue, beyond those of a node with none.
  void measure_idle() {
    const std::string with = postgres_.make_database();
    const std::string without = postgres_.make_database();
    const auto name = [](const std::string& url) { return url.substr(url.rfind('/') + 1); };
    const double all = transactions_of_idle_node({.store = with}, name(with));
    const double others = transactions_of_idle_node({.store = without, .has_queue = false}, name(without));
    print_result("delay.idle.queries_per_s", all - others);
  }

  void measure_held_snapshot() {
    const std::string url = postgres_.make_database();
    const double free = run_once({.store = url}, 5'000).received_per_s;
    const std::unique_ptr<PGconn, decltype(&PQfinish)> holder(PQconnectdb(url.c_str()), &PQfinish);
    PQclear(PQexec(holder.get(), "begin isolation level repeatable read; select 1"));
    double held = 0;
    for (int i = 0; i < 3; ++i) held = run_once({.store = url}, 5'000).received_per_s;  // 75 s
    print_result("delay.snapshot75.vs_free", held / free);
  }

  void measure_waiting() {
    const std::string url = postgres_.make_database();
    (void)run_once({.store = url}, 1'000);  // makes the tables
    const double empty = run_once({.store = url}, 5'000).received_per_s;
    const std::string database = url.substr(url.rfind('/') + 1);
    postgres_.run_sql(
        fmt::format("insert into message (delay_queue, id, deadline, due, headers, value) select 'bench', 'w' || "
                    "md5(n::text), now() + interval '1 day', now() + interval '1 day', '[]', '\\x00' "
                    "from generate_series(1, {}) n",
                    options_.waiting),
        database);
    postgres_.run_sql("vacuum analyze message", database);
    print_result("delay.waiting10m.vs_empty", run_once({.store = url}, 5'000).received_per_s / empty);
    print_result("delay.waiting10m.r1000.p999_ms",
                 run_once({.store = url, .advance = "auto"}, 1'000).lateness_at(0.999));
  }

  const Options options_;
  testing::KafkaBroker kafka_;
  testing::PostgresServer postgres_{{.durable = true, .settings = {"max_wal_size = 8GB"}}};
  std::size_t early_ = 0;
  std::size_t missing_ = 0;
  std::size_t duplicates_ = 0;
};

}  // namespace
}  // namespace horae::bench

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a long bench shows what it has
  horae::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--short") options.is_short = true;
    if (word == "--rate" && i + 1 < argc) options.rate = std::atoi(argv[++i]);
    if (word == "--waiting" && i + 1 < argc) options.waiting = std::atol(argv[++i]);
  }
  horae::bench::Bench(options).run();
  return 0;
}
