#include "stores/postgres/postgres_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/batches.h"
#include "stores/postgres/cache/database_identity.h"
#include "stores/postgres/cluster.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/messages.h"
#include "stores/postgres/migrations.h"
#include "stores/postgres/queues.h"
#include "stores/postgres/schedules/schedules.h"
#include "stores/postgres/tasks/cancel.h"
#include "stores/postgres/tasks/claim.h"
#include "stores/postgres/tasks/exchange.h"
#include "stores/postgres/tasks/purge.h"
#include "stores/postgres/tasks/reader.h"
#include "stores/postgres/tasks/settle.h"
#include "stores/postgres/tasks/submit.h"
#include "stores/postgres/tasks/upkeep.h"
#include "stores/postgres/tokens.h"

namespace horae {
namespace postgres {
namespace {

const Sql kProbeRoom = statement("probe_room");
constexpr std::string_view kNotAllowed = "42501";  // the role may make no temporary tables

class Tasks final : public TaskStore {
 public:
  Tasks(Pool& pool, DatabaseIdentity& database, QueueNames& names, Days& days, Floors& floors,
        const PostgresStoreOptions& options)
      : database_(database),
        submitter_(pool, names, days, floors, known_),
        claimer_(pool, names, floors, known_),
        settler_(pool, names, floors, known_),
        exchanger_(pool, names, settler_, submitter_, claimer_, floors, known_),
        canceller_(pool, floors),
        upkeep_(pool, floors),
        purger_(pool, days, names, options.purge_delay),
        reader_(pool) {}

  Result<std::vector<SubmitOutcome>> submit(std::span<const Submission> submissions) override {
    if (auto checked = check_batch(submissions, check_submission); !checked.ok()) return checked.error();
    return database_.run([&] { return submitter_.submit(submissions); });
  }
  Result<std::vector<ClaimOutcome>> claim(std::span<const ClaimWish> wishes) override {
    if (auto checked = check_batch(wishes, check_claim_wish); !checked.ok()) return checked.error();
    return database_.run([&] { return claimer_.claim(wishes); });
  }
  Result<std::vector<LeasedTask>> leases_of(const Uuid& token) override {
    return database_.run([&] { return claimer_.leases_of(token); });
  }
  Result<std::vector<bool>> have_served(std::span<const Uuid> tokens) override {
    if (auto checked = check_batch_size(tokens.size()); !checked.ok()) return checked.error();
    return database_.run([&] { return claimer_.have_served(tokens); });
  }
  Result<std::vector<SettleOutcome>> settle(std::span<const Settlement> settlements) override {
    if (auto checked = check_batch(settlements, check_settlement); !checked.ok()) return checked.error();
    return database_.run([&] { return settler_.settle(settlements); });
  }
  Result<BundleOutcome> exchange(const Bundle& calls) override {
    if (auto checked = check_bundle(calls); !checked.ok()) return checked.error();
    return database_.run([&] { return exchanger_.exchange(calls); });
  }
  Result<std::vector<CancelOutcome>> cancel(std::span<const CancelWish> wishes) override {
    if (auto checked = check_batch(wishes, check_cancel_wish); !checked.ok()) return checked.error();
    return database_.run([&] { return canceller_.cancel(wishes); });
  }
  Result<PromoteOutcome> promote_due(std::size_t max) override {
    return database_.run([&] { return upkeep_.promote_due(max); });
  }
  Result<Watch> look() override {
    return database_.run([&] { return upkeep_.look(); });
  }
  Result<bool> extend_leases(const std::optional<Instant>& seen) override {
    return database_.run([&] { return upkeep_.extend_leases(seen); });
  }
  Result<ExpireOutcome> expire_leases(const ExpireWish& wish) override {
    return database_.run([&] { return upkeep_.expire_leases(wish); });
  }
  Result<PurgeOutcome> purge(std::size_t max) override {
    return database_.run([&] { return purger_.purge(max); });
  }
  Result<std::vector<std::optional<Task>>> get(std::span<const TaskId> ids) override {
    const auto any = [](const TaskId&) { return Result<void>(); };
    if (auto checked = check_batch(ids, any); !checked.ok()) return checked.error();
    return database_.run([&] { return reader_.get(ids); });
  }
  Result<std::optional<Task>> find(std::string_view queue, std::string_view key) override {
    return database_.run([&] { return reader_.find(queue, key); });
  }
  Result<Page> list(const ListQuery& query) override {
    return database_.run([&] { return reader_.list(query); });
  }

  void forget() { known_.forget(); }

  Submitter& submitter() { return submitter_; }
  KnownTasks& known() { return known_; }

 private:
  DatabaseIdentity& database_;
  KnownTasks known_;  // before those that use it
  Submitter submitter_;
  Claimer claimer_;
  Settler settler_;
  Exchanger exchanger_;
  Canceller canceller_;
  Upkeep upkeep_;
  Purger purger_;
  Reader reader_;
};

// `code` is the error for a server that is not durable.
Result<void> check_durability(const Connection& connection, const std::vector<std::string>& allowed, ErrorCode code) {
  for (const std::string& name : connection.unsafe_settings()) {
    if (std::ranges::find(allowed, name) != allowed.end()) continue;
    return Error{code,
                 fmt::format("PostgreSQL runs with {} = off: a crash of the server would lose acknowledged tasks. "
                             "Turn it on, or allow it by its name (allow_unsafe) if this data may be lost",
                             name)};
  }
  return {};
}

Result<void> check_encoding(Connection& connection) {
  const auto encoding = connection.run_alone("show server_encoding");
  if (!encoding.ok()) return encoding.error();
  if ((*encoding)[0].view(0) == "UTF8") return {};
  return Error{ErrorCode::kRefused,
               fmt::format("the database's encoding is {}: Horae needs UTF8; create the database with "
                           "\"create database horae encoding 'UTF8' template template0\"",
                           (*encoding)[0].view(0))};
}

// `code`: see check_durability().
Result<std::unique_ptr<Connection>> prepare_database(const std::string& url, const PostgresStoreOptions& options,
                                                     ErrorCode code, Patience patience = Patience::kEndless) {
  auto connection = Connection::open(url);
  if (!connection.ok()) return connection;
  (*connection)->set_patience(patience);
  if (auto checked = check_encoding(**connection); !checked.ok()) return checked.error();
  if (auto durable = check_durability(**connection, options.allow_unsafe, code); !durable.ok()) return durable.error();
  if (auto migrated = migrate_database(**connection, false); !migrated.ok()) return migrated.error();
  return connection;
}

// The same for a database that has changed, while calls wait for it.
Result<std::string> prepare_again(const std::string& url, const PostgresStoreOptions& options) {
  const auto connection = prepare_database(url, options, ErrorCode::kUnavailable, Patience::kLimited);
  if (!connection.ok()) return connection.error();
  return (*connection)->incarnation();
}

class PostgresStore final : public Store {
 public:
  PostgresStore(const std::string& url, std::string description, const PostgresStoreOptions& options)
      : description_(std::move(description)),
        database_([url, options] { return prepare_again(url, options); }, [this] { reset_caches(); }),
        pool_(url, options.connections, pool_options(options)),
        names_(pool_, options.max_queues),
        days_(pool_),
        floors_(clock_),
        tasks_(pool_, database_, names_, days_, floors_, options),
        queues_(pool_, database_, names_),
        messages_(pool_, clock_),
        schedules_(pool_, database_, tasks_.submitter(), tasks_.known(), floors_),
        tokens_(pool_),
        cluster_(url, pool_, database_, clock_) {}

  TaskStore& tasks() override { return tasks_; }
  QueueStore& queues() override { return queues_; }
  MessageStore& messages() override { return messages_; }
  ScheduleStore& schedules() override { return schedules_; }
  TokenStore& tokens() override { return tokens_; }
  ClusterStore& cluster() override { return cluster_; }
  std::string description() const override { return description_; }

  // In a transaction that is rolled back.
  Result<void> probe_writes() override {
    const auto probed = pool_.transact<bool>([](Transaction& transaction) -> Result<bool> {
      transaction.send(kProbeRoom);
      if (transaction.wait() || transaction.failure()->sqlstate == kNotAllowed) return true;
      return transaction.failure()->error;
    });
    if (!probed.ok()) return probed.error();
    return {};
  }
  Result<void> prepare() { return days_.refresh(); }

 private:
  // A fail-over may lead to a server that is not durable, long after the store was opened. The calls are not at fault:
  // they may be repeated.
  PoolOptions pool_options(const PostgresStoreOptions& options) {
    return {.answer_timeout = options.answer_timeout,
            .check = [this, allowed = options.allow_unsafe](const Connection& connection) -> Result<void> {
              auto durable = check_durability(connection, allowed, ErrorCode::kUnavailable);
              if (!durable.ok()) return durable;
              auto admitted = database_.admit(connection);
              if (!admitted.ok()) pool_.renew();  // so that no call waits long for a server that is gone
              return admitted;
            },
            .before_commit = options.before_commit};
  }

  void reset_caches() {
    pool_.renew();
    names_.forget();
    days_.forget_all();
    floors_.forget();
    tasks_.forget();
    messages_.forget();
  }

  const std::string description_;
  SystemClock clock_;  // for pacing only
  DatabaseIdentity database_;
  Pool pool_;
  QueueNames names_;
  Days days_;
  Floors floors_;
  Tasks tasks_;
  Queues queues_;
  Messages messages_;
  Schedules schedules_;
  Tokens tokens_;
  Cluster cluster_;
};

Result<std::string> describe(Connection& connection) {
  const auto where = connection.run_alone(statement("describe_server").text);
  if (!where.ok()) return where.error();
  const Row row = (*where)[0];
  return fmt::format("postgresql {} database {}, {} synchronous standbys", row.text(0), row.text(1), row.text(2));
}

}  // namespace
}  // namespace postgres

Result<std::unique_ptr<Store>> open_postgres_store(const std::string& url, const PostgresStoreOptions& options) {
  const auto connection = postgres::prepare_database(url, options, ErrorCode::kRefused);
  if (!connection.ok()) return connection.error();
  auto description = postgres::describe(**connection);
  if (!description.ok()) return description.error();
  auto store = std::make_unique<postgres::PostgresStore>(url, std::move(*description), options);
  if (auto prepared = store->prepare(); !prepared.ok()) return prepared.error();
  return std::unique_ptr<Store>(std::move(store));
}

Result<MigrationReport> migrate_postgres(const std::string& url, bool dry_run) {
  const auto connection = postgres::Connection::open(url);
  if (!connection.ok()) return connection.error();
  return postgres::migrate_database(**connection, dry_run);
}

}  // namespace horae
