// The yardsticks for the PostgreSQL store: whole lives of tasks directly by libpq, without any decisions, returning only
// the claimed specs. Also the bare connection that the yardsticks share.
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
  int priority = 0;  // higher is claimed first
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
// A failed statement ends the program with the server's message.
//
// Not thread-safe. Several yardsticks may use the same tables concurrently.
class PostgresYardstick {
 public:
  virtual ~PostgresYardstick() = default;

  // Stores new tasks under new version 7 ids.
  virtual void submit(std::span<const YardstickTask> tasks) = 0;

  // Leases up to `max` ready tasks to this worker; fewer if other workers hold the rest.
  virtual std::vector<YardstickClaim> claim(int max) = 0;

  // Ends tasks that this worker claimed, each with the result {}.
  virtual void complete(std::span<const YardstickClaim> tasks) = 0;

  // complete(), submit() and claim() in one transaction and one round trip.
  virtual std::vector<YardstickClaim> exchange(std::span<const YardstickClaim> done,
                                               std::span<const YardstickTask> tasks, int max) = 0;
};

// The result of a statement, in the binary format.
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

// A bare connection, without the layers of the store.
class BareConnection {
 public:
  // Uses generic plans, without JIT and sequential scans, so that a plan made for an empty table does not distort the
  // figures. Unqualified names refer to `schema`.
  BareConnection(const std::string& url, std::string_view schema);

  // Any number of statements, without parameters.
  void execute(const std::string& sql);

  void prepare(const char* name, const char* sql);

  // run("claim", queue, max), with parameters as encode() takes them. Between gather() and finish() it only sends.
  template <typename... Values>
  BareRows run(const char* name, const Values&... values) {
    return run_encoded(name, std::initializer_list<std::string>{encode(values)...});
  }

  // All run() calls until finish() are one transaction, sent as a pipeline; finish() returns all results.
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
