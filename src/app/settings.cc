#include "app/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "app/agent_settings.h"
#include "app/nearest.h"
#include "app/open_store.h"
#include "app/setting_kinds.h"
#include "base/duration.h"
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
  return Error{ErrorCode::kMalformed, "is no kind of store that Horae supports"};
}

std::vector<Setting> node_settings() {
  return {
      text_setting({.key = "data", .help = "Folder for the files of the node, such as the embedded store."}, "a path",
                   check_folder, [](Config& c) -> std::string& { return c.data; }),
      text_setting(
          {.key = "store",
           .help = "URL of the store: PostgreSQL for many nodes, SQLite for one. By default sqlite:DATA/horae.db in "
                   "the data folder. libpq also reads PGPASSFILE, which keeps the password out of this setting.",
           .seeds = "master/slave: MONGO_HOST, MONGO_PORT, MONGO_USER, MONGO_PASSWORD, DB_NAME; Chronos: "
                    "database connection settings"},
          "sqlite:PATH or postgresql://USER@HOST/DATABASE", check_store,
          [](Config& c) -> std::string& { return c.store; }),
      duration_setting(
          {.key = "grace",
           .help = "Time for running tasks to yield, and for requests to be answered, when the node stops."},
          {seconds(0), hours(1)}, {[](Config& c) -> Duration& { return c.grace; }}),
      duration_setting({.key = "poll",
                        .help = "Delay before a failed call of the store is retried, and interval at which the node "
                                "checks whether queues of tasks that wait for its slots were paused by another node.",
                        .seeds = "master/slave: SCHEDULE_INTERVAL"},
                       {milliseconds(10), minutes(1)},
                       {[](Config& c) -> Duration& { return c.engine.promoter.retry; },
                        [](Config& c) -> Duration& { return c.engine.claimer.retry; },
                        [](Config& c) -> Duration& { return c.engine.dispatcher.poll; }}),
      duration_setting({.key = "cluster.poll",
                        .help = "Interval of the query with which a node announces itself and finds what other nodes "
                                "did. It is the fallback: nodes usually notify each other at once."},
                       {milliseconds(10), seconds(2)}, {[](Config& c) -> Duration& { return c.engine.poller.poll; }}),
      duration_setting({.key = "cluster.poll_without_notify",
                        .help = "The same interval while notifications do not arrive, for example behind PgBouncer in "
                                "transaction mode."},
                       {milliseconds(10), seconds(2)},
                       {[](Config& c) -> Duration& { return c.engine.poller.poll_deaf; }}),
      log_level_setting({.key = "log.level", .help = "Minimum severity that is logged.", .seeds = "LOG_LEVEL"},
                        [](Config& c) -> LogLevel& { return c.log.level; }),
      log_format_setting(
          {.key = "log.format", .help = "Format of log lines: text for people, or one JSON object per line."},
          [](Config& c) -> LogFormat& { return c.log.format; }),
  };
}

std::vector<Setting> http_settings() {
  return {
      list_setting({.key = "http.listen",
                    .help = "Addresses of the HTTP server; port 0 picks a free one. An address that other machines can "
                            "reach uses TLS, with the certificate and key below; a loopback address does not. A prefix "
                            "of https:// or http:// overrides this.",
                    .seeds = "master/slave: MASTER_HOST, MASTER_PORT"},
                   "1 to 16 of the form 127.0.0.1:3369, [::1]:3369 or https://0.0.0.0:3369", {1, 16},
                   check_listen_address, [](Config& c) -> std::vector<std::string>& { return c.http.listen; }),
      text_setting({.key = "http.tls_certificate",
                    .help = "Certificate of the node, followed by the intermediate certificates. On SIGHUP the node "
                            "reads the certificate and the key again, for new connections."},
                   "a file in PEM, or nothing", check_any,
                   [](Config& c) -> std::string& { return c.http.tls.certificate; }),
      text_setting({.key = "http.tls_key", .help = "Private key of the certificate, without a password."},
                   "a file in PEM, or nothing", check_any, [](Config& c) -> std::string& { return c.http.tls.key; }),
      bool_setting({.key = "http.plaintext_behind_proxy",
                    .help = "Permission to serve other machines without TLS. Only for a node behind a proxy that "
                            "encrypts: tokens and tasks are readable on the wire otherwise."},
                   [](Config& c) -> bool& { return c.http.plaintext_behind_proxy; }),
      bool_setting({.key = "http.require_token", .help = "Whether callers on this machine need a token, too."},
                   [](Config& c) -> bool& { return c.api.gate.require_token; }),
      number_setting({.key = "http.rate_limit",
                      .help = "Calls per second that one token may make at this node on average; more get 429."},
                     {1, 1'000'000}, [](Config& c) -> int& { return c.rate_limit.per_second; }),
      number_setting({.key = "http.rate_burst", .help = "Calls that one token may make in a burst."}, {1, 1'000'000},
                     [](Config& c) -> int& { return c.rate_limit.burst; }),
      number_setting({.key = "http.threads", .help = "Threads that read requests and write answers."}, {1, 64},
                     [](Config& c) -> int& { return c.http.threads; }),
      number_setting({.key = "http.max_connections",
                      .help = "Maximum of open connections; further ones get 503. Those without a known token may be "
                              "three quarters of them: then the oldest of these is closed for each new one."},
                     {1, 100'000}, [](Config& c) -> std::size_t& { return c.http.limits.connections; }),
      number_setting({.key = "http.max_streams", .help = "Maximum of open event streams; further ones get 503."},
                     {0, 100'000}, [](Config& c) -> std::size_t& { return c.http.limits.streams; }),
      number_setting(
          {.key = "http.max_body", .help = "Maximum size of a request body in bytes; a larger one gets 413."},
          {1 << 10, 64 << 20}, [](Config& c) -> std::size_t& { return c.http.limits.body_bytes; }),
      number_setting({.key = "http.max_head",
                      .help = "Maximum size of the request line and headers in bytes; larger ones get 431."},
                     {8 << 10, 1 << 20}, [](Config& c) -> std::size_t& { return c.http.limits.head_bytes; }),
      number_setting({.key = "http.max_bytes_in_flight",
                      .help = "Maximum size in bytes of all requests that are arriving or not answered yet and of all "
                              "answers that are not sent yet; what exceeds it gets 503. Callers without a known token "
                              "may have an eighth of it. At least max_body and max_head together."},
                     {1 << 20, std::int64_t{1} << 40},
                     [](Config& c) -> std::size_t& { return c.http.limits.bytes_in_flight; }),
      duration_setting({.key = "http.head_timeout", .help = "Time for the headers of a request to arrive; then 408."},
                       {milliseconds(100), minutes(10)}, {[](Config& c) -> Duration& { return c.http.limits.head; }}),
      duration_setting({.key = "http.body_timeout", .help = "Time for the body of a request to arrive; then 408."},
                       {milliseconds(100), minutes(10)}, {[](Config& c) -> Duration& { return c.http.limits.body; }}),
      duration_setting(
          {.key = "http.idle_timeout", .help = "Time between two requests of a connection, after which it is closed."},
          {milliseconds(100), hours(1)}, {[](Config& c) -> Duration& { return c.http.limits.idle; }}),
      duration_setting({.key = "http.write_timeout",
                        .help = "Time for a client to accept an answer, after which it is disconnected."},
                       {milliseconds(100), minutes(10)}, {[](Config& c) -> Duration& { return c.http.limits.write; }}),
      number_setting({.key = "http.read_threads", .help = "Threads for requests that read from the store."}, {1, 64},
                     [](Config& c) -> int& { return c.api.read_threads; }),
      number_setting(
          {.key = "http.max_waiting_reads",
           .help = "Maximum of reads that wait for a thread, of one token a quarter of it; further ones get 503."},
          {1, 100'000}, [](Config& c) -> std::size_t& { return c.api.max_waiting_reads; }),
  };
}

// What one caller may have of the limits above.
std::vector<Setting> caller_settings() {
  return {
      number_setting({.key = "http.max_connections_per_address",
                      .help = "Maximum of open connections from one address (IPv6: from one /64 network); further ones "
                              "get 503. Does not hold for callers that need no token, nor behind a proxy."},
                     {1, 100'000}, [](Config& c) -> std::size_t& { return c.http.limits.peers.connections; }),
      number_setting({.key = "http.max_stranger_requests",
                      .help = "Requests per second without a known token from one address, on average; more get 429. "
                              "Does not hold for callers that need no token, nor behind a proxy."},
                     {1, 1'000'000}, [](Config& c) -> int& { return c.http.limits.peers.stranger_requests; }),
      number_setting({.key = "http.max_connections_per_token",
                      .help = "Open connections of one token that are kept when connections are short; further ones "
                              "are closed first, as those without a token are."},
                     {1, 100'000}, [](Config& c) -> std::size_t& { return c.api.token.connections; }),
      number_setting({.key = "http.max_bytes_per_token",
                      .help = "Maximum size in bytes of the requests and answers of one token that are under way; the "
                              "one after that which reaches it gets 503."},
                     {1 << 20, std::int64_t{1} << 40}, [](Config& c) -> std::size_t& { return c.api.token.bytes; }),
      number_setting({.key = "http.max_streams_per_token",
                      .help = "Maximum of open event streams of one token; further ones get 503."},
                     {0, 100'000}, [](Config& c) -> std::size_t& { return c.api.token.streams; }),
      number_setting({.key = "http.max_waits_per_token",
                      .help = "Maximum of claims of one token that wait for tasks; further ones get 429."},
                     {1, 100'000}, [](Config& c) -> std::size_t& { return c.api.token.waiting_calls; }),
  };
}

std::vector<Setting> slot_settings() {
  return {
      number_setting({.key = "slots.count",
                      .help = "Tasks that the node itself runs at once; 0 for a node that only serves workers.",
                      .seeds = "TMS: CONCURRENT_TASKS; SHIELD: workers"},
                     {0, 1'024}, [](Config& c) -> std::size_t& { return c.engine.dispatcher.slots; }),
      list_setting(
          {.key = "slots.queues",
           .help = "Queues from which the slots take tasks. Tasks of other queues are left to workers."},
          "up to 16 names of queues", {0, kMaxQueuesOfAClaim},
          [](std::string_view name) { return check_queue_name(name); },
          [](Config& c) -> std::vector<std::string>& { return c.engine.dispatcher.queues; }),
      number_setting({.key = "slots.ahead",
                      .help = "Maximum of tasks that are claimed beyond the free slots and wait in memory. They are "
                              "leased to this node, so no other node can run them."},
                     {0, 1'000}, [](Config& c) -> std::size_t& { return c.engine.dispatcher.ahead; }),
      duration_setting({.key = "slots.ahead_time",
                        .help = "A task is claimed beyond the free slots only if it is expected to start within this "
                                "time, by the run times seen: some short tasks, no long ones."},
                       {milliseconds(0), hours(24)},
                       {[](Config& c) -> Duration& { return c.engine.dispatcher.ahead_time; }}),
      duration_setting({.key = "slots.give_back",
                        .help = "A task that has waited in memory for this long is released to other nodes."},
                       {milliseconds(100), hours(24)},
                       {[](Config& c) -> Duration& { return c.engine.dispatcher.give_back; }}),
      duration_setting(
          {.key = "slots.lease",
           .help = fmt::format("Length of the leases of the node's own slots. A heartbeat is sent every third "
                               "of it. Workers choose the length of theirs in each claim ({} by default).",
                               format_duration(kDefaultLease)),
           .seeds = "TMS: WORKER_TIMEOUT_SEC, and a third of it HEART_BEAT_INTERVAL_SEC; master/slave: "
                    "HEARTBEAT_INTERVAL, HEARTBEAT_GRACE_PERIOD; Scylla: timeout"},
          {seconds(1), kMaxLease}, {[](Config& c) -> Duration& { return c.engine.dispatcher.lease; }}),
      duration_setting({.key = "slots.dispatch",
                        .help = "Interval at which free slots are filled, in addition to wake-ups.",
                        .seeds = "SHIELD: hyper loop"},
                       {milliseconds(1), seconds(10)},
                       {[](Config& c) -> Duration& { return c.engine.dispatcher.dispatch_interval; }}),
      duration_setting({.key = "slots.elevator",
                        .help = "Interval at which waiting tasks are lifted by one level, so that none starves.",
                        .seeds = "SHIELD: fast loop"},
                       {milliseconds(10), hours(1)},
                       {[](Config& c) -> Duration& { return c.engine.dispatcher.elevator_interval; }}),
  };
}

std::vector<Setting> store_settings() {
  return {
      number_setting({.key = "promoter.batch",
                      .help = "Maximum of due tasks that are made ready in one transaction.",
                      .seeds = "TMS: MAX_POLL_RECORDS"},
                     {1, kMaxBatch}, [](Config& c) -> std::size_t& { return c.engine.promoter.batch; }),
      duration_setting({.key = "monitor.poll",
                        .help = "Interval at which expired leases are collected.",
                        .seeds = "Scylla: monitor; TMS: liveness tracker"},
                       {milliseconds(10), milliseconds(1'500)},
                       {[](Config& c) -> Duration& { return c.engine.monitor.poll; }}),
      duration_setting(
          {.key = "upkeep.interval",
           .help = "Interval at which finished tasks are removed when their retention is over. The retention belongs "
                   "to the queue (7 days by default): horae queue set QUEUE --retention 24h. Queues that were never "
                   "configured and hold nothing are removed as well, an hour after they were made at the earliest.",
           .seeds = "Scylla: clean-up by the monitor"},
          {seconds(1), hours(24)}, {[](Config& c) -> Duration& { return c.engine.upkeep_interval; }}),
      number_setting({.key = "queues.max",
                      .help = "Maximum of queues in the store; a task for one more is refused with 429. Give all nodes "
                              "of a cluster the same value."},
                     {1, 100'000}, [](Config& c) -> std::size_t& { return c.max_queues; }),
      number_setting(
          {.key = "queues.max_per_token",
           .help = "Maximum of queues that one token may create by submitting tasks, for each pattern of its "
                   "queues; beyond it, a task for a new queue is refused with 429. Queues that were removed "
                   "no longer count. Tokens with the role admin have no such limit."},
          {0, 100'000}, [](Config& c) -> std::size_t& { return c.max_queues_of_token; }),
      number_setting(
          {.key = "combiner.max_pending",
           .help = "Maximum of submits, settles, cancels and claims that are under way; further ones get 429."},
          {1, 1'000'000}, [](Config& c) -> std::size_t& { return c.combiner.max_pending; }),
      number_setting({.key = "combiner.max_batch", .help = "Maximum of those calls in one transaction."},
                     {1, kMaxBatch}, [](Config& c) -> std::size_t& { return c.combiner.max_batch; }),
      number_setting({.key = "postgres.connections", .help = "Connections of the node to PostgreSQL."}, {1, 500},
                     [](Config& c) -> std::size_t& { return c.postgres.connections; }),
      list_setting({.key = "postgres.allow_unsafe",
                    .help = "Settings of PostgreSQL that may be off, although a crash then loses acknowledged work."},
                   "fsync, full_page_writes, synchronous_commit", {0, 3}, check_unsafe_name,
                   [](Config& c) -> std::vector<std::string>& { return c.postgres.allow_unsafe; }),
      duration_setting(
          {.key = "postgres.answer_timeout",
           .help =
               "How long a call waits for an answer of PostgreSQL before it takes the connection for dead, drops all "
               "idle ones, and continues on a new one if that is safe. Maintenance waits for 30 s, or for this if it "
               "is longer. Raise it if checkpoints stall commits for seconds."},
          {seconds(1), minutes(10)}, {[](Config& c) -> Duration& { return c.postgres.answer_timeout; }}),
      duration_setting(
          {.key = "postgres.purge_delay",
           .help = "Additional time after the retention before rows of a day that cannot be dropped as a whole are "
                   "deleted. Finished tasks are usually removed by dropping the partition of their day."},
          {seconds(0), hours(24 * 30)}, {[](Config& c) -> Duration& { return c.postgres.purge_delay; }}),
  };
}

std::vector<Setting> make_settings() {
  std::vector<Setting> all = node_settings();
  for (auto part : {http_settings(), caller_settings(), slot_settings(), store_settings(), agent_settings()})
    std::ranges::move(part, std::back_inserter(all));
  return all;
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

// The common form of keys and names of variables: "slots.count" is SLOTS_COUNT.
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
