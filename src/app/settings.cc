#include "app/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "app/nearest.h"
#include "app/open_store.h"
#include "app/setting_kinds.h"
#include "model/task.h"
#include "stores/sqlite/sqlite_store.h"

namespace horae {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

Result<void> check_store(std::string_view url) {
  for (const std::string_view scheme : {kSqliteScheme, kPostgresScheme}) {
    if (url.starts_with(scheme) && url.size() > scheme.size()) return {};
  }
  return Error{ErrorCode::kMalformed, "is of no kind that Horae knows"};
}

std::vector<Setting> node_settings() {
  return {
      text_setting({.key = "data", .help = "The folder for what the node keeps on disk, such as the embedded store."},
                   "a path", check_folder, [](Config& c) -> std::string& { return c.data; }),
      text_setting({.key = "store",
                    .help = "Where the tasks are. PostgreSQL takes many nodes, SQLite one. By default it is "
                            "sqlite:DATA/horae.db in the folder above. Keep passwords out of it: libpq also reads "
                            "PGPASSFILE.",
                    .seeds = "master/slave: MONGO_HOST, MONGO_PORT, MONGO_USER, MONGO_PASSWORD, DB_NAME; Chronos: "
                             "database connection settings"},
                   "sqlite:PATH or postgresql://USER@HOST/DATABASE", check_store,
                   [](Config& c) -> std::string& { return c.store; }),
      duration_setting(
          {.key = "grace", .help = "How long runs have to yield, and requests to be answered, when the node stops."},
          {seconds(0), hours(1)}, {[](Config& c) -> Duration& { return c.grace; }}),
      duration_setting({.key = "poll",
                        .help = "How soon a node tries again what the store could not do, and how often it looks "
                                "whether tasks that wait for its slots were paused elsewhere.",
                        .seeds = "master/slave: SCHEDULE_INTERVAL"},
                       {milliseconds(10), minutes(1)},
                       {[](Config& c) -> Duration& { return c.engine.promoter.retry; },
                        [](Config& c) -> Duration& { return c.engine.claimer.retry; },
                        [](Config& c) -> Duration& { return c.engine.dispatcher.poll; }}),
      duration_setting({.key = "cluster.poll",
                        .help = "How often a node says that it is there, and looks what others did that it was not "
                                "told: all in one query. Usually it is told at once."},
                       {milliseconds(10), seconds(2)}, {[](Config& c) -> Duration& { return c.engine.poller.poll; }}),
      duration_setting({.key = "cluster.poll_without_notify",
                        .help = "The same while nodes cannot tell each other anything: behind PgBouncer in transaction "
                                "mode, which passes no notifications on."},
                       {milliseconds(10), seconds(2)},
                       {[](Config& c) -> Duration& { return c.engine.poller.poll_deaf; }}),
      log_level_setting({.key = "log.level", .help = "What is logged: this and worse.", .seeds = "LOG_LEVEL"},
                        [](Config& c) -> LogLevel& { return c.log.level; }),
      log_format_setting({.key = "log.format", .help = "Lines for people, or a JSON object in each line."},
                         [](Config& c) -> LogFormat& { return c.log.format; }),
  };
}

std::vector<Setting> http_settings() {
  return {
      list_setting(
          {.key = "http.listen",
           .help = "Where the node answers; port 0 is any free one. An address that other machines can reach is "
                   "encrypted, and needs the two files below; loopback is plain. https:// or http:// before the "
                   "address says it otherwise.",
           .seeds = "master/slave: MASTER_HOST, MASTER_PORT"},
          "1 to 16 of the form 127.0.0.1:3369, [::1]:3369 or https://0.0.0.0:3369", {1, 16}, check_listen_address,
          [](Config& c) -> std::vector<std::string>& { return c.http.listen; }),
      text_setting({.key = "http.tls_certificate",
                    .help = "The certificate of the node, and after it those between it and a root. A node that gets "
                            "SIGHUP reads it and the key anew, for new connections."},
                   "a file in PEM, or nothing", check_any,
                   [](Config& c) -> std::string& { return c.http.tls.certificate; }),
      text_setting({.key = "http.tls_key", .help = "The key of the certificate, without a password."},
                   "a file in PEM, or nothing", check_any, [](Config& c) -> std::string& { return c.http.tls.key; }),
      bool_setting({.key = "http.plaintext_behind_proxy",
                    .help = "Allows addresses that other machines can reach without TLS. Only for a node that is "
                            "reached through a proxy which encrypts: tokens and tasks pass readable otherwise."},
                   [](Config& c) -> bool& { return c.http.plaintext_behind_proxy; }),
      bool_setting({.key = "http.require_token", .help = "Asks also those on this machine for a token."},
                   [](Config& c) -> bool& { return c.api.gate.require_token; }),
      number_setting({.key = "http.rate_limit",
                      .help = "Calls that one token may make at this node in a second, in the long run; more get 429."},
                     {1, 1'000'000}, [](Config& c) -> int& { return c.rate_limit.per_second; }),
      number_setting({.key = "http.rate_burst", .help = "Calls that one token may make at once, after a rest."},
                     {1, 1'000'000}, [](Config& c) -> int& { return c.rate_limit.burst; }),
      number_setting({.key = "http.threads", .help = "Threads that read requests and write answers."}, {1, 64},
                     [](Config& c) -> int& { return c.http.threads; }),
      number_setting({.key = "http.max_connections", .help = "Connections at once; more of them get 503."},
                     {1, 100'000}, [](Config& c) -> std::size_t& { return c.http.limits.connections; }),
      number_setting({.key = "http.max_streams", .help = "Streams of events at once; more of them get 503."},
                     {0, 100'000}, [](Config& c) -> std::size_t& { return c.http.limits.streams; }),
      number_setting({.key = "http.max_body", .help = "Bytes of a request's body; more get 413."}, {1 << 10, 64 << 20},
                     [](Config& c) -> std::size_t& { return c.http.limits.body_bytes; }),
      number_setting({.key = "http.max_head", .help = "Bytes of a request's line and headers; more get 431."},
                     {8 << 10, 1 << 20}, [](Config& c) -> std::size_t& { return c.http.limits.head_bytes; }),
      number_setting({.key = "http.max_bytes_in_flight",
                      .help = "Bytes of all requests together that arrive or are not answered yet; the one that goes "
                              "beyond it gets 503. At least max_body and max_head together."},
                     {1 << 20, std::int64_t{1} << 40},
                     [](Config& c) -> std::size_t& { return c.http.limits.bytes_in_flight; }),
      duration_setting({.key = "http.head_timeout", .help = "For a request's headers to arrive; then 408."},
                       {milliseconds(100), minutes(10)}, {[](Config& c) -> Duration& { return c.http.limits.head; }}),
      duration_setting({.key = "http.body_timeout", .help = "For a request's body to arrive; then 408."},
                       {milliseconds(100), minutes(10)}, {[](Config& c) -> Duration& { return c.http.limits.body; }}),
      duration_setting({.key = "http.idle_timeout", .help = "Between two requests of a connection; then it is closed."},
                       {milliseconds(100), hours(1)}, {[](Config& c) -> Duration& { return c.http.limits.idle; }}),
      duration_setting({.key = "http.write_timeout", .help = "For a client to take an answer; then it is cut off."},
                       {milliseconds(100), minutes(10)}, {[](Config& c) -> Duration& { return c.http.limits.write; }}),
      number_setting({.key = "http.read_threads", .help = "Threads that look things up in the store."}, {1, 64},
                     [](Config& c) -> int& { return c.api.read_threads; }),
      number_setting({.key = "http.max_waiting_reads", .help = "Look-ups that may wait for a thread; more get 503."},
                     {1, 100'000}, [](Config& c) -> std::size_t& { return c.api.max_waiting_reads; }),
  };
}

std::vector<Setting> slot_settings() {
  return {
      number_setting({.key = "slots.count",
                      .help = "How many tasks the node itself runs at once; 0 for a node that only serves workers.",
                      .seeds = "TMS: CONCURRENT_TASKS; SHIELD: workers"},
                     {0, 1'024}, [](Config& c) -> std::size_t& { return c.engine.dispatcher.slots; }),
      list_setting(
          {.key = "slots.queues",
           .help = "The queues from which the slots take tasks. Tasks of other queues are for workers."},
          "up to 16 names of queues", {0, kMaxQueuesOfAClaim},
          [](std::string_view name) { return check_queue_name(name); },
          [](Config& c) -> std::vector<std::string>& { return c.engine.dispatcher.queues; }),
      number_setting({.key = "slots.ahead", .help = "How many tasks may wait in memory beyond the free slots."},
                     {0, 1'000}, [](Config& c) -> std::size_t& { return c.engine.dispatcher.ahead; }),
      duration_setting({.key = "slots.lease",
                        .help = "How long a task stays with a node that is silent. It beats three times as often. "
                                "Workers say in each claim how long theirs is (10s if they do not).",
                        .seeds = "TMS: WORKER_TIMEOUT_SEC, and a third of it HEART_BEAT_INTERVAL_SEC; master/slave: "
                                 "HEARTBEAT_INTERVAL, HEARTBEAT_GRACE_PERIOD; Scylla: timeout"},
                       {seconds(1), kMaxLease}, {[](Config& c) -> Duration& { return c.engine.dispatcher.lease; }}),
      duration_setting({.key = "slots.dispatch",
                        .help = "How often free slots are filled, besides at once.",
                        .seeds = "SHIELD: hyper loop"},
                       {milliseconds(1), seconds(10)},
                       {[](Config& c) -> Duration& { return c.engine.dispatcher.dispatch_interval; }}),
      duration_setting({.key = "slots.elevator",
                        .help = "How often waiting tasks are lifted by a level, so that none starves.",
                        .seeds = "SHIELD: fast loop"},
                       {milliseconds(10), hours(1)},
                       {[](Config& c) -> Duration& { return c.engine.dispatcher.elevator_interval; }}),
  };
}

std::vector<Setting> store_settings() {
  return {
      number_setting({.key = "promoter.batch",
                      .help = "How many due tasks are made ready in one transaction.",
                      .seeds = "TMS: MAX_POLL_RECORDS"},
                     {1, kMaxBatch}, [](Config& c) -> std::size_t& { return c.engine.promoter.batch; }),
      duration_setting({.key = "monitor.poll",
                        .help = "How often leases are looked at that have expired.",
                        .seeds = "Scylla: monitor; TMS: liveness tracker"},
                       {milliseconds(10), milliseconds(1'500)},
                       {[](Config& c) -> Duration& { return c.engine.monitor.poll; }}),
      duration_setting({.key = "upkeep.interval",
                        .help = "How often finished tasks are removed whose retention is over. The retention is a "
                                "matter of each queue (7 days unless changed): horae queue set QUEUE --retention 24h.",
                        .seeds = "Scylla: clean-up by the monitor"},
                       {seconds(1), hours(24)}, {[](Config& c) -> Duration& { return c.engine.upkeep_interval; }}),
      number_setting({.key = "combiner.max_pending",
                      .help = "Submits, settles, cancels and claims that may be under way at once; more get 429."},
                     {1, 1'000'000}, [](Config& c) -> std::size_t& { return c.combiner.max_pending; }),
      number_setting({.key = "combiner.max_batch", .help = "How many of them go into one transaction."}, {1, kMaxBatch},
                     [](Config& c) -> std::size_t& { return c.combiner.max_batch; }),
      number_setting({.key = "postgres.connections", .help = "Connections of the node to PostgreSQL."}, {1, 500},
                     [](Config& c) -> std::size_t& { return c.postgres.connections; }),
      list_setting(
          {.key = "postgres.allow_unsafe",
           .help = "Settings of PostgreSQL that may be off, although that loses acknowledged work in a crash."},
          "fsync, full_page_writes, synchronous_commit", {0, 3}, check_unsafe_name,
          [](Config& c) -> std::vector<std::string>& { return c.postgres.allow_unsafe; }),
      duration_setting({.key = "postgres.purge_delay",
                        .help = "Finished tasks go with their whole day. What a day that cannot go yet leaves behind "
                                "is removed one by one, this much later than its retention says."},
                       {seconds(0), hours(24 * 30)}, {[](Config& c) -> Duration& { return c.postgres.purge_delay; }}),
  };
}

std::vector<Setting> make_settings() {
  std::vector<Setting> all = node_settings();
  for (auto part : {http_settings(), slot_settings(), store_settings()})
    std::ranges::move(part, std::back_inserter(all));
  return all;
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

// Keys and the names of variables on common ground: "slots.count" is SLOTS_COUNT.
std::string plain(std::string_view key) {
  std::string result = upper(key);
  std::ranges::replace(result, '.', '_');
  return result;
}

bool has_word(std::string_view text, std::string_view word) {
  const auto is_edge = [text](std::size_t i) {
    return i >= text.size() || text[i] == ' ' || text[i] == ',' || text[i] == ';';
  };
  const std::size_t at = text.find(word);
  return at != std::string_view::npos && (at == 0 || is_edge(at - 1)) && is_edge(at + word.size());
}

}  // namespace

std::span<const Setting> settings() {
  static const std::vector<Setting> kSettings = make_settings();
  return kSettings;
}

const Setting* find_setting(std::string_view key) {
  const auto found = std::ranges::find(settings(), key, &Setting::key);
  return found == settings().end() ? nullptr : &*found;
}

std::string flag_of(const Setting& setting) {
  std::string flag = "--" + setting.key;
  std::ranges::replace_if(
      flag, [](char c) { return c == '.' || c == '_'; }, '-');
  return flag;
}

std::string environment_of(const Setting& setting) { return "HORAE_" + plain(setting.key); }

const Setting* nearest_setting(std::string_view unknown) {
  const std::string last = plain(unknown.substr(unknown.rfind('.') + 1));
  std::vector<std::string> names;
  for (const Setting& setting : settings()) {
    names.push_back(plain(setting.key));
    const bool is_of_a_seed = last.find('_') != std::string::npos && has_word(upper(setting.seeds), last);
    if (is_of_a_seed || names.back().ends_with("_" + last)) return &setting;
  }
  const auto nearest = nearest_of(plain(unknown), names);
  if (!nearest) return nullptr;
  return &settings()[static_cast<std::size_t>(std::ranges::find(names, *nearest) - names.begin())];
}

std::vector<std::string> split_items(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    items.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

std::string join_items(const std::vector<std::string>& items) { return fmt::format("{}", fmt::join(items, ",")); }

}  // namespace horae
