// One connection to PostgreSQL, and transactions on it in pipeline mode: statements are sent without waiting for the
// answers of those before.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "stores/postgres/connection/params.h"
#include "stores/postgres/connection/rows.h"

struct pg_conn;  // libpq's

namespace horae::postgres {

// How many rows a statement must change. If it changes another number, its transaction fails.
enum class Changes {
  kNone,  // it changes none, or it checks by itself what it changes
  kOne,   // exactly one
  kEach,  // one for each element of its first array, or for each row of its list of values
  kAny,   // any number: its caller knows why
};

// A statement. The name is how it is prepared once for each connection: no two have the same.
struct Sql {
  std::string name;
  std::string text;
  Changes changes = Changes::kNone;
};

// Why a statement or the connection failed.
struct Failure {
  Error error;
  std::string sqlstate;       // empty if the connection was lost
  bool lost = false;          // the connection is of no use any more
  bool commit_sent = false;   // it was lost, and COMMIT may have arrived: the outcome is unknown
  bool transient() const;     // serialization failure or deadlock: the same transaction may succeed now
  bool duplicate() const;     // a unique index had it already
  bool no_partition() const;  // the day of a number has no partition, or it is being dropped
  bool null_value() const;    // of a column that must have one: see make_ready in insertion.sql
  bool lock_timeout() const;  // of a transaction that does not want to wait
};

// How long a script may take: kLimited as long as a patient transaction.
enum class Patience { kEndless, kLimited };

// How long a connection waits for the next bytes of an answer before it takes the server for gone. The kernel notices
// by itself that nothing acknowledges what it sends, but not that a proxy in between has lost the server.
inline constexpr Duration kAnswerTimeout = std::chrono::seconds(10);

// Not thread-safe: one thread at a time.
class Connection {
 public:
  // Waits for the connection. kUnavailable if the server cannot be reached or says no.
  static Result<std::unique_ptr<Connection>> open(const std::string& url, Duration answer_timeout = kAnswerTimeout);

  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // True behind a pooler that may give each transaction another session: nothing is prepared then.
  bool pooled() const { return pooled_; }
  int server_version() const;

  // Which start of which server this is, and which of its databases. Another one after each restart, so also after a
  // fail-over or a restore, and for a database that was made anew under an old name. Behind a pooler it is that of the
  // connection's beginning, and a transaction that comes to another one fails.
  const std::string& incarnation() const { return incarnation_; }

  // True once a transaction has failed because the pooler led it to another database.
  bool database_changed() const { return database_changed_; }

  // The settings of the server that lose acknowledged work and were off when the connection was made: of fsync,
  // full_page_writes and synchronous_commit.
  const std::vector<std::string>& unsafe_settings() const { return unsafe_settings_; }

  // Tests hold transactions open with this: it is called when a change has done all but COMMIT, and false rolls back.
  void set_before_commit(std::function<bool()> before_commit) { before_commit_ = std::move(before_commit); }

  // For any number of statements without parameters, separated by semicolons, outside of Transactions: migrations,
  // settings. Waits as long as the server lives, or as set_patience() says. The answer of the last one comes as text,
  // not binary: read it with Row::text() only. After a failure the transaction that they began, if any, is rolled back.
  Result<Rows> run_alone(const std::string& text);
  void set_patience(Patience patience) { patience_ = patience; }

  // How often a Transaction has waited for answers.
  std::uint64_t round_trips() const { return round_trips_; }

  // True once an answer did not come in time, and nobody said why.
  bool timed_out() const { return silent_; }

  // False once the connection is of no use. Between transactions only; checks without waiting whether the server has
  // closed it.
  bool usable();

  // Notifications on channels that this session listens to, since the last call. Between transactions only; does not
  // wait: see socket(). Nothing if the connection is lost.
  std::optional<std::vector<std::string>> take_notifications();

  // Readable when there may be something to take.
  int socket() const;

 private:
  friend class Transaction;

  struct Close {
    void operator()(pg_conn* connection) const;
  };
  using Handle = std::unique_ptr<pg_conn, Close>;

  Connection(Handle handle, Duration answer_timeout);

  Result<void> set_up();
  Result<Rows> ask(const std::string& text, int silence_ms);
  bool flush(int silence_ms);                      // sends what is buffered; false if the connection is lost
  bool wait(bool also_for_write, int silence_ms);  // for something to read; false if the connection is lost or silent
  pg_result* next_result(int silence_ms);          // waits for it; null between results and on loss
  bool lost() const;
  std::string message() const;
  std::vector<std::string> take_told();  // of what libpq has read already

  Handle handle_;
  const int answer_ms_;
  bool pooled_ = false;
  std::string incarnation_;
  bool database_changed_ = false;
  Patience patience_ = Patience::kEndless;
  std::vector<std::string> unsafe_settings_;
  std::function<bool()> before_commit_;
  bool silent_ = false;  // the server has not answered in time
  std::uint64_t round_trips_ = 0;
  std::unordered_map<std::string, std::string> prepared_;  // name to text
};

// A transaction at READ COMMITTED, or a snapshot for reading, or statements that are a transaction without BEGIN and
// COMMIT: all that is sent before the first wait() or commit(). After a failure all further calls do nothing, and
// commit() returns it. The destructor rolls back what was not committed.
class Transaction {
 public:
  // kOneTrip is kChange for a caller that does not wait() before commit(): the server commits at the end of the
  // pipeline by itself, which saves two statements.
  enum class Kind { kChange, kOneTrip, kSnapshot, kAlone };

  explicit Transaction(Connection& connection, Kind kind = Kind::kChange);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // For maintenance, whose statements may take long: it waits for their answers for half a minute.
  void be_patient() { is_patient_ = true; }

  // Sends a statement; its answer can be taken after wait() or commit(). `rows`: for Changes::kEach, if it is not the
  // size of the first array.
  //
  // A wrong number of changed rows is a failure. If COMMIT was sent together with the statement, the rest of the
  // transaction may be committed all the same.
  std::size_t send(const Sql& sql, const Params& params = {}, std::optional<std::size_t> rows = {});

  // Waits for the answers of all that was sent. False after a failure. Not in a transaction of one trip.
  bool wait();

  // send(), wait() and rows() in one.
  Rows run(const Sql& sql, const Params& params = {});

  // The answer to send() number `ticket`; no rows after a failure.
  const Rows& rows(std::size_t ticket) const { return answers_[ticket]; }

  // Commits, together with what was sent and not yet waited for: one round trip.
  Result<void> commit();

  bool failed() const { return failure().has_value(); }
  const std::optional<Failure>& failure() const {
    noticed_ = noticed_ || failure_.has_value();
    return failure_;
  }

  // True if it has failed and the caller has not seen that from commit(), wait(), failed() or failure().
  bool failed_unnoticed() const { return failure_ && !noticed_; }

  // For errors of our own: nothing of the transaction will have happened.
  void fail(Error error);

 private:
  struct Pending {
    enum class Kind { kPrepare, kPlain, kSettings, kAnswer, kCommit };
    Kind kind = Kind::kPlain;
    std::string name;                          // of the statement, for kPrepare and where rows are expected
    std::size_t ticket = 0;                    // for kAnswer
    std::optional<std::size_t> expected = {};  // how many rows it must change
  };

  void take_answers();
  bool finish_pending();
  void send_plain(const char* text, Pending::Kind kind = Pending::Kind::kPlain);
  void send_settings();  // behind a pooler
  void send_unprepared(const std::string& text, const Params& params, Pending pending);
  bool prepare(const Sql& sql, const Params& params);
  void read(const Pending& pending);
  void note_failure(pg_result* result, Pending::Kind answered);
  void note_loss();
  void check_rows(const Pending& pending, std::size_t changed);
  int silence_ms() const;

  Connection& connection_;
  const Kind kind_;
  std::vector<Rows> answers_;
  std::deque<Pending> pending_;
  std::optional<Failure> failure_;
  bool commit_possible_ = false;  // COMMIT was sent, and nothing was answered that rules it out
  bool done_ = false;
  bool is_patient_ = false;
  mutable bool noticed_ = false;
};

}  // namespace horae::postgres
