// What the PostgreSQL store is measured against: whole lives of tasks by libpq directly, with nothing decided and
// nothing answered but the claimed specs. Below it the bare connection that the yardsticks share.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/uuid.h"

namespace horae::bench {

struct YardstickTask {
  int priority = 0;  // higher goes first
  std::string spec;
};

struct YardstickClaim {
  Uuid id;
  std::int32_t attempt = 0;
  std::int64_t number = 0;  // only where the layout has numbers and leases of several tasks
  std::int64_t lease = 0;
  std::string spec;
};

// One worker on one connection. Each call is one prepared statement: one transaction, one round trip.
// A statement that fails ends the program with the server's message: a bench has no plan B.
//
// Threads: one at a time. Several yardsticks may work on the same tables at once.
class PostgresYardstick {
 public:
  virtual ~PostgresYardstick() = default;

  // Stores new tasks, with version 7 ids made on the way.
  virtual void submit(std::span<const YardstickTask> tasks) = 0;

  // Leases up to `max` ready tasks to this worker. Fewer when others hold them at the moment.
  virtual std::vector<YardstickClaim> claim(int max) = 0;

  // Ends tasks that this worker claimed, each with the result {}.
  virtual void complete(std::span<const YardstickClaim> tasks) = 0;

  // complete(), submit() and claim() in one transaction and one round trip.
  virtual std::vector<YardstickClaim> exchange(std::span<const YardstickClaim> done,
                                               std::span<const YardstickTask> tasks, int max) = 0;
};

// What a statement answered, in the binary format.
class BareRows {
 public:
  explicit BareRows(PGresult* result) : result_(result) {}

  int size() const { return PQntuples(result_.get()); }
  std::int64_t affected() const;
  std::int32_t int32(int row, int column) const;
  std::int64_t int64(int row, int column) const;
  Uuid uuid(int row, int column) const;
  std::string_view text(int row, int column) const;  // lives as long as the rows

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

// Parameters in the binary format: single values, and arrays from vectors.
std::string encode(std::int16_t value);
std::string encode(std::int32_t value);
std::string encode(double value);
std::string encode(std::string_view value);
std::string encode(const std::vector<std::int16_t>& values);
std::string encode(const std::vector<std::int32_t>& values);
std::string encode(const std::vector<std::int64_t>& values);
std::string encode(const std::vector<Uuid>& values);
std::string encode(const std::vector<std::string_view>& values);

// A connection without any of the store's wrapping.
class BareConnection {
 public:
  // Generic plans, without JIT and without scans of whole tables: a plan that is made while a table is empty must not
  // decide the figures. Unqualified names are those of `schema`.
  BareConnection(const std::string& url, std::string_view schema);

  // Any number of statements, without parameters.
  void execute(const std::string& sql);

  void prepare(const char* name, const char* sql);

  // run("claim", queue, max): the parameters as encode() takes them. While statements are gathered it only sends.
  template <typename... Values>
  BareRows run(const char* name, const Values&... values) {
    return run_encoded(name, std::initializer_list<std::string>{encode(values)...});
  }

  // What run() is called for until finish() is one transaction, sent in a pipeline; finish() answers all of it.
  void gather();
  std::vector<BareRows> finish();

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };

  BareRows checked(PGresult* result);
  BareRows run_encoded(const char* name, std::span<const std::string> parameters);

  std::unique_ptr<PGconn, Finish> connection_;
  bool gathers_ = false;
  int sent_ = 0;
};

}  // namespace horae::bench
