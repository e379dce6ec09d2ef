#include "cli/nouns/doctor_checks.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <utility>

#include "app/open_store.h"
#include "base/duration.h"
#include "base/quote.h"
#include "base/version.h"
#include "cli/client/replies.h"
#include "kafka/kafka_admin.h"
#include "stores/postgres/connection/rights.h"
#include "stores/postgres/postgres_store.h"
#include "stores/sqlite/sqlite_store.h"

namespace horae::cli {
namespace {

namespace fs = std::filesystem;

constexpr Duration kLargestSkew = std::chrono::seconds(1);

Finding schema_finding(const MigrationReport& report) {
  if (report.steps.empty()) return {Health::kGood, "schema", fmt::format("version {}, up to date", report.to)};
  return {Health::kNote, "schema",
          fmt::format("version {}, this program needs {}: horae serve or horae migrate applies the migrations",
                      report.from, report.to)};
}

// Leases and due times follow the store's clock alone; this machine's clock affects logs, and ids and times made here.
Finding skew_finding(Store& store, const Clock& clock) {
  const Instant before = clock.wall_now();
  const auto page = store.tasks().list({.limit = 1});
  const Instant after = clock.wall_now();
  if (!page.ok()) return {Health::kBad, "clock", "the store's time cannot be read: " + page.error().message};
  const Duration skew =
      page->as_of < before ? before - page->as_of : std::max(Duration(0), Duration(page->as_of - after));
  if (skew <= kLargestSkew) {
    return {Health::kGood, "clock", fmt::format("within {} of the store's", format_duration(kLargestSkew))};
  }
  return {Health::kNote, "clock",
          fmt::format("this machine's clock is {} {} the store's: set both by NTP (tasks follow the store's)",
                      format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(skew)),
                      page->as_of < before ? "ahead of" : "behind")};
}

Finding durability_finding(const Store& store, const Config& config) {
  if (config.postgres.allow_unsafe.empty()) {
    return {Health::kGood, "durability",
            "fsync, full_page_writes and synchronous_commit are on; " + store.description()};
  }
  return {Health::kNote, "durability",
          fmt::format("these may be off, which can lose acknowledged work in a crash: {} (postgres.allow_unsafe); {}",
                      fmt::join(config.postgres.allow_unsafe, ", "), store.description())};
}

constexpr std::size_t kShownRights = 3;

// A role with only some of the permissions fails later: at a migration, or at midnight, when a new partition is made.
Finding rights_finding(const std::string& url) {
  const auto rights = look_up_postgres_rights(url);
  if (!rights.ok()) return {Health::kBad, "rights", rights.error().message};
  const auto& missing = rights->missing;
  if (missing.empty()) {
    return {Health::kGood, "rights", fmt::format("role {} may create, read and write its tables", rights->role)};
  }
  const std::vector<std::string> shown(missing.begin(),
                                       missing.begin() + std::min<std::ptrdiff_t>(kShownRights, std::ssize(missing)));
  return {
      Health::kBad, "rights",
      fmt::format(
          "role {} must be able to: {}{}; GRANT it that, or use the role that created the tables in the store's URL",
          rights->role, fmt::join(shown, "; "),
          missing.size() > kShownRights ? fmt::format("; and {} more", missing.size() - kShownRights) : "")};
}

// Opening a store migrates it, so it is opened only if there is nothing to migrate.
std::vector<Finding> check_postgres(const Config& config, const Clock& clock) {
  const auto report = migrate_postgres(config.store, true);
  if (!report.ok()) return {{Health::kBad, "store", report.error().message}};
  std::vector<Finding> findings = {{Health::kGood, "store", without_password(config.store) + " answers"},
                                   rights_finding(config.store),
                                   schema_finding(*report)};
  if (!report->steps.empty()) return findings;
  const auto store = open_postgres_store(config.store, config.postgres);
  if (!store.ok()) {
    findings.push_back({Health::kBad, "durability", store.error().message});
    return findings;
  }
  findings.push_back(durability_finding(**store, config));
  findings.push_back(skew_finding(**store, clock));
  return findings;
}

std::vector<Finding> check_sqlite(const std::string& url) {
  const std::string path = url.substr(kSqliteScheme.size());
  if (url == kSqliteMemory) return {{Health::kNote, "store", "is in memory: it is lost when the node stops"}};
  std::error_code failed;
  if (!fs::exists(path, failed)) {
    return {{Health::kNote, "store", fmt::format("{} does not exist yet: horae serve creates it", path)}};
  }
  const auto report = migrate_sqlite(url, true);
  if (!report.ok() && report.error().code == ErrorCode::kConflict) {
    return {{Health::kGood, "store", path + " is in use by a node; not checked"}};
  }
  if (!report.ok()) return {{Health::kBad, "store", report.error().message}};
  return {{Health::kGood, "store", path + " opens, and no node uses it"},
          schema_finding(*report),
          {Health::kGood, "durability", "each commit is synced to disk (WAL, synchronous = FULL)"}};
}

}  // namespace

Finding check_data_folder(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return {Health::kNote, "data", fmt::format("{} does not exist yet: horae serve creates it if needed", path)};
  }
  if (!S_ISDIR(status.st_mode)) return {Health::kBad, "data", path + " is not a folder: remove it, or set data"};
  if (::access(path.c_str(), W_OK | X_OK) != 0) {
    return {Health::kBad, "data",
            fmt::format("this user cannot write to {}: change its owner to the user of the node, or set data", path)};
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return {Health::kNote, "data",
            fmt::format("other users can read {} (mode {:o}): chmod 700 {}", path, status.st_mode & 0777U, path)};
  }
  return {Health::kGood, "data", path + " is writable, and private to this user"};
}

std::vector<Finding> check_store(const Config& config, const Clock& clock) {
  if (config.store.starts_with(kPostgresScheme)) return check_postgres(config, clock);
  return check_sqlite(config.store);
}

std::vector<Finding> check_delay(const DelayConfig& config, const Clock& clock) {
  constexpr Duration kPatience = std::chrono::seconds(5);
  std::vector<std::pair<std::string, TopicRole>> topics;
  for (const DelayQueueConfig& queue : config.queues) {
    for (const auto& topic :
         {std::pair(queue.relay.input, TopicRole::kInput), std::pair(queue.output, TopicRole::kOutput),
          std::pair(queue.dead_letter, TopicRole::kDeadLetter)}) {
      if (!topic.first.empty()) topics.push_back(topic);
    }
  }
  if (topics.empty()) return {};
  std::ostringstream dropped;
  const Logger log(dropped, clock, {.level = LogLevel::kOff});
  auto admin = KafkaAdmin::open(config.kafka, clock, log);
  if (!admin.ok()) return {{Health::kBad, "kafka", admin.error().message}};
  std::vector<Finding> findings;
  for (const auto& [topic, role] : topics) {
    const auto facts = admin->look(topic, kPatience);
    if (!facts.ok()) {
      findings.push_back({Health::kBad, "kafka", facts.error().message});
      if (facts.error().code == ErrorCode::kUnavailable) return findings;
      continue;
    }
    const auto warnings = topic_warnings(topic, role, *facts);
    for (const std::string& warning : warnings) findings.push_back({Health::kNote, "kafka", warning});
    if (warnings.empty()) {
      findings.push_back({Health::kGood, "kafka", fmt::format("topic {} has {} partitions", topic, facts->partitions)});
    }
  }
  return findings;
}

// Whether the node accepts the token of this user.
Finding check_access(NodeClient& client) {
  const auto called = client.get("/v1/scheduler");
  if (called.ok()) return {Health::kGood, "access", "the node accepts calls of this user"};
  if (called.error().code == ErrorCode::kForbidden) {
    return {Health::kNote, "access", "the token is valid, but not for everything: " + called.error().message};
  }
  return {Health::kBad, "access", called.error().message};
}

std::vector<Finding> check_node(NodeClient& client, bool is_expected) {
  const auto health = client.get("/healthz");
  if (!health.ok()) {
    const bool may_be_away = !is_expected && health.error().code == ErrorCode::kUnavailable;
    return {{may_be_away ? Health::kNote : Health::kBad, "node",
             health.error().message + (may_be_away ? "; start one with horae serve" : "")}};
  }
  const auto status = read_node_status(*health);
  if (!status.ok()) return {{Health::kBad, "node", status.error().message}};
  std::vector<Finding> findings;
  if (status->version == version()) {
    findings.push_back(
        {Health::kGood, "node", fmt::format("{} is running, version {}", client.node(), status->version)});
  } else {
    findings.push_back({Health::kNote, "node",
                        fmt::format("{} has version {}, this program {}", client.node(), status->version, version())});
  }
  const auto ready = client.get("/readyz");
  findings.push_back(ready.ok() ? Finding{Health::kGood, "readiness", "the node can serve requests"}
                                : Finding{Health::kBad, "readiness", ready.error().message});
  if (ready.ok()) findings.push_back(check_access(client));
  return findings;
}

}  // namespace horae::cli
