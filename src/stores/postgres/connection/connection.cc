#include "stores/postgres/connection/connection.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "stores/postgres/connection/statements.h"

namespace horae::postgres {
namespace {

// What scripts and patient transactions wait for an answer. Longer than any statement of Horae takes.
constexpr int kSilenceMilliseconds = 30'000;
constexpr int kForEver = -1;
constexpr int kBinary = 1;

constexpr std::string_view kNoNumber = "22P02";
// What must be on so that an acknowledged task survives a crash of the server.
constexpr std::array kDurability = {"fsync", "full_page_writes", "synchronous_commit"};
const Sql kAskServer = statement("ask_server");
const Sql kSessionSettings = statement("session_settings");
const Sql kTransactionSettings = statement("transaction_settings");
constexpr const char* kBegin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
constexpr const char* kBeginSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

// A message of libpq or of the server, which may have several lines.
std::string in_one_line(const char* message) {
  std::string line;
  for (const char c : std::string_view(message ? message : "")) line += c == '\n' ? "; " : std::string(1, c);
  while (line.ends_with(' ') || line.ends_with(';')) line.pop_back();
  return line;
}

bool starts_with_any(const std::string& state, std::initializer_list<const char*> classes) {
  for (const char* each : classes) {
    if (state.starts_with(each)) return true;
  }
  return false;
}

// Away or busy: connection failures, lack of resources, shutdown and crash recovery, a standby that takes no writes, a
// lock that was not got in time, a transaction that stood still for too long. All else is a bug of ours or damage.
ErrorCode code_of(const std::string& state) {
  const bool away = starts_with_any(state, {"08", "40", "53", "55P03", "57", "58", "25006", "25P03"});
  return away ? ErrorCode::kUnavailable : ErrorCode::kInternal;
}

}  // namespace

bool Failure::transient() const { return sqlstate == "40001" || sqlstate == "40P01"; }
bool Failure::duplicate() const { return sqlstate == "23505"; }
// A partition that is dropped while a statement waits for it shows as a relation that is gone.
bool Failure::no_partition() const { return sqlstate == "23514" || sqlstate == "42P01" || sqlstate == "XX000"; }
bool Failure::null_value() const { return sqlstate == "23502"; }
bool Failure::lock_timeout() const { return sqlstate == "55P03"; }

// ---- Connection ----

void Connection::Close::operator()(pg_conn* connection) const { PQfinish(connection); }

Connection::~Connection() = default;

Connection::Connection(Handle handle, Duration answer_timeout)
    : handle_(std::move(handle)),
      answer_ms_(static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(answer_timeout).count())) {}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& url, Duration answer_timeout) {
  // Of two that say different things the later one wins: the URL over our wishes, and UTF-8 over the URL. The kernel
  // notices within seconds that the peer is gone without a word, whether it waits for an acknowledgement
  // (tcp_user_timeout) or for an answer (keepalives).
  const std::array<const char*, 9> keywords = {"connect_timeout",
                                               "fallback_application_name",
                                               "keepalives_idle",
                                               "keepalives_interval",
                                               "keepalives_count",
                                               "tcp_user_timeout",
                                               "dbname",
                                               "client_encoding",
                                               nullptr};
  const std::array<const char*, 9> values = {"10", "horae", "5", "2", "3", "5000", url.c_str(), "UTF8", nullptr};
  Handle handle(PQconnectdbParams(keywords.data(), values.data(), 1));
  if (!handle || PQstatus(handle.get()) != CONNECTION_OK) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("PostgreSQL cannot be reached: {}", in_one_line(PQerrorMessage(handle.get())))};
  }
  std::unique_ptr<Connection> connection(new Connection(std::move(handle), answer_timeout));
  if (auto ready = connection->set_up(); !ready.ok()) return ready.error();
  return connection;
}

Result<void> Connection::set_up() {
  // Without this, libpq prints notices to standard error.
  PQsetNoticeReceiver(
      handle_.get(), [](void*, const pg_result*) {}, nullptr);
  if (PQsetnonblocking(handle_.get(), 1) != 0) {
    return Error{ErrorCode::kInternal, fmt::format("PostgreSQL: no connection without blocking: {}", message())};
  }
  const auto told = ask(kAskServer.text, answer_ms_);
  if (!told.ok()) return told.error();
  if (told->empty()) return Error{ErrorCode::kUnavailable, "PostgreSQL does not say which server it is"};
  const Row server = (*told)[0];
  // A pooler reports a pid of its own; the session behind it has another one.
  pooled_ = server.text(0) != std::to_string(PQbackendPID(handle_.get()));
  for (int i = 0; i < static_cast<int>(kDurability.size()); ++i) {
    if (server.view(i + 1) == "off") unsafe_settings_.emplace_back(kDurability[static_cast<std::size_t>(i)]);
  }
  incarnation_ = server.text(kDurability.size() + 1);
  if (!pooled_) {
    if (auto set = ask(kSessionSettings.text, answer_ms_); !set.ok()) return set.error();
  }
  if (PQenterPipelineMode(handle_.get()) != 1) {
    return Error{ErrorCode::kInternal, fmt::format("PostgreSQL: no pipeline: {}", message())};
  }
  return {};
}

int Connection::server_version() const { return PQserverVersion(handle_.get()); }

Result<Rows> Connection::run_alone(const std::string& text) {
  if (lost() || silent_ || PQexitPipelineMode(handle_.get()) != 1) {
    return Error{ErrorCode::kUnavailable, fmt::format("PostgreSQL: the connection was lost: {}", message())};
  }
  auto answer = ask(text, patience_ == Patience::kLimited ? kSilenceMilliseconds : kForEver);
  if (!answer.ok() && !lost() && PQtransactionStatus(handle_.get()) != PQTRANS_IDLE) {
    (void)ask("ROLLBACK", kSilenceMilliseconds);
  }
  PQenterPipelineMode(handle_.get());  // fails only if the connection is lost
  return answer;
}

// Outside of pipeline mode. The answers of all statements are read, up to the end or the first error.
Result<Rows> Connection::ask(const std::string& text, int silence_ms) {
  Rows last;
  std::optional<Error> error;
  if (PQsendQuery(handle_.get(), text.c_str()) != 1 || !flush(silence_ms)) {
    return Error{ErrorCode::kUnavailable, fmt::format("PostgreSQL: the connection was lost: {}", message())};
  }
  while (pg_result* result = next_result(silence_ms)) {
    const auto status = PQresultStatus(result);
    last = Rows(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY) continue;
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    error = Error{state ? code_of(state) : ErrorCode::kUnavailable,
                  fmt::format("PostgreSQL: {}", in_one_line(PQresultErrorMessage(result)))};
  }
  if (error) return *error;
  if (lost() || silent_) return Error{ErrorCode::kUnavailable, "PostgreSQL: the connection was lost: no answer"};
  return last;
}

bool Connection::lost() const { return PQstatus(handle_.get()) != CONNECTION_OK; }

bool Connection::usable() {
  if (lost() || silent_ || database_changed_) return false;
  pollfd socket{.fd = PQsocket(handle_.get()), .events = POLLIN, .revents = 0};
  // A server that says something unasked may say that a setting has changed, or goodbye, and then hangs up.
  while (poll(&socket, 1, 0) > 0) {
    if (PQconsumeInput(handle_.get()) != 1) return false;
    (void)PQisBusy(handle_.get());  // takes it in
  }
  (void)take_told();  // a pooler may deliver what other clients listen to: it must not pile up
  return !lost() && PQtransactionStatus(handle_.get()) == PQTRANS_IDLE;
}

int Connection::socket() const { return PQsocket(handle_.get()); }

std::optional<std::vector<std::string>> Connection::take_notifications() {
  pollfd readable{.fd = socket(), .events = POLLIN, .revents = 0};
  std::vector<std::string> told;
  // Again and again, because one read takes no more than fits into the buffer.
  do {
    if (PQconsumeInput(handle_.get()) != 1) return std::nullopt;
    std::ranges::move(take_told(), std::back_inserter(told));
  } while (poll(&readable, 1, 0) > 0 && !lost());
  if (lost()) return std::nullopt;
  return told;
}

std::vector<std::string> Connection::take_told() {
  std::vector<std::string> told;
  while (PGnotify* each = PQnotifies(handle_.get())) {
    told.emplace_back(each->extra);
    PQfreemem(each);
  }
  return told;
}

std::string Connection::message() const {
  const std::string text = in_one_line(PQerrorMessage(handle_.get()));
  return text.empty() ? "no answer" : text;
}

bool Connection::wait(bool also_for_write, int silence_ms) {
  // With TLS, bytes may have been taken from the socket that libpq has not seen yet: poll() would wait for more.
  if (PQsslInUse(handle_.get()) == 1) {
    if (PQconsumeInput(handle_.get()) != 1) return false;
    if (!also_for_write && PQisBusy(handle_.get()) == 0) return true;
  }
  pollfd socket{.fd = PQsocket(handle_.get()),
                .events = static_cast<short>(also_for_write ? POLLIN | POLLOUT : POLLIN),
                .revents = 0};
  if (socket.fd < 0) return false;
  int ready = 0;
  do {
    ready = poll(&socket, 1, silence_ms);
  } while (ready < 0 && errno == EINTR);
  silent_ = ready <= 0;
  if (silent_) return false;
  return (socket.revents & (POLLIN | POLLHUP | POLLERR)) == 0 || PQconsumeInput(handle_.get()) == 1;
}

// Reads while it writes: else both sides might wait for the other one to read.
bool Connection::flush(int silence_ms) {
  for (;;) {
    const int left = PQflush(handle_.get());
    if (left == 0) return true;
    if (left < 0 || !wait(true, silence_ms)) return false;
  }
}

pg_result* Connection::next_result(int silence_ms) {
  while (PQisBusy(handle_.get()) == 1) {
    if (!wait(false, silence_ms)) break;
  }
  // What the server said before it went is still to be read.
  return silent_ ? nullptr : PQgetResult(handle_.get());
}

// ---- Transaction ----

// Behind a pooler the settings of this transaction need BEGIN, and so does a test that holds it open.
Transaction::Transaction(Connection& connection, Kind kind)
    : connection_(connection),
      kind_(kind == Kind::kOneTrip && (connection.pooled() || connection.before_commit_) ? Kind::kChange : kind) {
  if (kind_ == Kind::kChange || kind_ == Kind::kSnapshot) send_plain(kind == Kind::kSnapshot ? kBeginSnapshot : kBegin);
  if (connection_.pooled()) send_settings();
}

Transaction::~Transaction() {
  if (done_) return;
  // In one trip, what has been answered has failed, and is rolled back already. What has not would be committed at the
  // end of the pipeline, if ROLLBACK did not come before it.
  const bool in_one_trip = kind_ == Kind::kOneTrip;
  if (!in_one_trip) (void)finish_pending();
  if ((failure_ && failure_->lost) || kind_ == Kind::kAlone || (in_one_trip && pending_.empty())) return;
  failure_.reset();
  send_plain("ROLLBACK");
  (void)finish_pending();
}

void Transaction::fail(Error error) {
  if (!failure_) failure_ = Failure{.error = std::move(error), .sqlstate = {}};
}

void Transaction::send_plain(const char* text, Pending::Kind kind) {
  if (failure_) return;
  if (connection_.pooled()) return send_unprepared(text, {}, {.kind = kind, .name = {}});
  if (!prepare({.name = text, .text = text}, {})) return;
  if (PQsendQueryPrepared(connection_.handle_.get(), text, 0, nullptr, nullptr, nullptr, kBinary) != 1) {
    return note_loss();
  }
  pending_.push_back({.kind = kind, .name = {}});
}

void Transaction::send_settings() {
  send_unprepared(kTransactionSettings.text, Params::of(connection_.incarnation()),
                  {.kind = Pending::Kind::kSettings, .name = {}});
}

void Transaction::send_unprepared(const std::string& text, const Params& params, Pending pending) {
  if (failure_) return;
  const auto values = params.values();
  const auto lengths = params.lengths();
  const std::vector<int> formats(params.size(), kBinary);
  if (PQsendQueryParams(connection_.handle_.get(), text.c_str(), static_cast<int>(params.size()), params.types().data(),
                        values.data(), lengths.data(), formats.data(), kBinary) != 1) {
    return note_loss();
  }
  pending_.push_back(std::move(pending));
}

bool Transaction::prepare(const Sql& sql, const Params& params) {
  if (const auto found = connection_.prepared_.find(sql.name); found != connection_.prepared_.end()) {
    HORAE_CHECK(found->second == sql.text, "two statements have the same name: " + sql.name);
    return true;
  }
  if (PQsendPrepare(connection_.handle_.get(), sql.name.c_str(), sql.text.c_str(), static_cast<int>(params.size()),
                    params.types().data()) != 1) {
    note_loss();
    return false;
  }
  connection_.prepared_.emplace(sql.name, sql.text);  // taken back if it fails
  pending_.push_back({.kind = Pending::Kind::kPrepare, .name = sql.name});
  return true;
}

int Transaction::silence_ms() const {
  return is_patient_ ? std::max(kSilenceMilliseconds, connection_.answer_ms_) : connection_.answer_ms_;
}

std::size_t Transaction::send(const Sql& sql, const Params& params, std::optional<std::size_t> rows) {
  const std::size_t ticket = answers_.size();
  answers_.emplace_back();
  if (failure_) return ticket;
  Pending pending{.kind = Pending::Kind::kAnswer, .name = {}, .ticket = ticket};
  if (sql.changes == Changes::kOne) pending.expected = 1;
  if (sql.changes == Changes::kEach) pending.expected = rows.value_or(params.rows());
  if (pending.expected) pending.name = sql.name;
  if (connection_.pooled()) {
    send_unprepared(sql.text, params, std::move(pending));
    return ticket;
  }
  if (!prepare(sql, params)) return ticket;
  const auto values = params.values();
  const auto lengths = params.lengths();
  const std::vector<int> formats(params.size(), kBinary);
  if (PQsendQueryPrepared(connection_.handle_.get(), sql.name.c_str(), static_cast<int>(params.size()), values.data(),
                          lengths.data(), formats.data(), kBinary) != 1) {
    note_loss();
    return ticket;
  }
  pending_.push_back(std::move(pending));
  return ticket;
}

void Transaction::take_answers() {
  HORAE_CHECK(kind_ != Kind::kOneTrip, "a transaction that waits in between needs BEGIN: the server would commit here");
  (void)finish_pending();
}

bool Transaction::wait() {
  take_answers();
  return !failed();
}

bool Transaction::finish_pending() {
  if (failure_ && failure_->lost) return false;
  if (pending_.empty()) return !failure_;
  ++connection_.round_trips_;
  if (PQpipelineSync(connection_.handle_.get()) != 1 || !connection_.flush(silence_ms())) {
    note_loss();
    return false;
  }
  while (!pending_.empty() && !(failure_ && failure_->lost)) {
    const Pending pending = std::move(pending_.front());
    pending_.pop_front();
    read(pending);
  }
  if (failure_ && failure_->lost) return false;
  pg_result* sync = connection_.next_result(silence_ms());
  if (PQresultStatus(sync) != PGRES_PIPELINE_SYNC) note_loss();
  PQclear(sync);
  return !failure_;
}

// One result and the null after it.
void Transaction::read(const Pending& pending) {
  pg_result* result = connection_.next_result(silence_ms());
  if (result == nullptr) return note_loss();
  switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
      if (pending.kind == Pending::Kind::kAnswer) {
        answers_[pending.ticket] = Rows(std::exchange(result, nullptr));
        check_rows(pending, answers_[pending.ticket].affected());
      } else if (pending.kind == Pending::Kind::kCommit && std::string_view(PQcmdStatus(result)) != "COMMIT") {
        // The answer to COMMIT in a transaction that had failed.
        fail({ErrorCode::kInternal, fmt::format("PostgreSQL: COMMIT was answered with {}", PQcmdStatus(result))});
      }
      break;
    case PGRES_PIPELINE_ABORTED:
      if (pending.kind == Pending::Kind::kPrepare) connection_.prepared_.erase(pending.name);
      break;
    default:
      if (pending.kind == Pending::Kind::kPrepare) connection_.prepared_.erase(pending.name);
      note_failure(result, pending.kind);
  }
  PQclear(result);
  if (failure_ && failure_->lost) return;
  PQclear(connection_.next_result(silence_ms()));
}

void Transaction::check_rows(const Pending& pending, std::size_t changed) {
  if (!pending.expected || changed == *pending.expected) return;
  fail(
      {ErrorCode::kInternal,
       fmt::format("PostgreSQL: the statement {} changed {} rows and not {}: a trigger or another program changes this "
                   "database; look at its triggers and rules, and at the log of the server",
                   pending.name, changed, *pending.expected)});
}

void Transaction::note_failure(pg_result* result, Pending::Kind answered) {
  if (failure_) return;
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (state == nullptr) return note_loss();
  // After an error the server skips the rest of the pipeline, COMMIT too, even if it says goodbye with it.
  if (answered != Pending::Kind::kCommit) commit_possible_ = false;
  failure_ =
      Failure{.error = {code_of(state), fmt::format("PostgreSQL: {}", in_one_line(PQresultErrorMessage(result)))},
              .sqlstate = state};
  if (answered == Pending::Kind::kSettings && state == kNoNumber) {
    failure_->error.code = ErrorCode::kUnavailable;
    failure_->lost = true;
    connection_.database_changed_ = true;
  }
}

// Keeps what the server said before.
void Transaction::note_loss() {
  const std::string reason = failure_ ? failure_->error.message : "PostgreSQL: " + connection_.message();
  failure_ = Failure{.error = {ErrorCode::kUnavailable, fmt::format("{} (the connection was lost)", reason)},
                     .sqlstate = {},
                     .lost = true,
                     .commit_sent = commit_possible_};
}

Rows Transaction::run(const Sql& sql, const Params& params) {
  const std::size_t ticket = send(sql, params);
  take_answers();
  return rows(ticket);
}

Result<void> Transaction::commit() {
  const bool has_begin = kind_ == Kind::kChange || kind_ == Kind::kSnapshot;
  if (has_begin && connection_.before_commit_ && wait() && !connection_.before_commit_()) {
    fail({ErrorCode::kUnavailable, "rolled back by a test"});
  }
  if (!failure_) {
    commit_possible_ = true;
    if (has_begin) send_plain("COMMIT", Pending::Kind::kCommit);
    (void)finish_pending();
  }
  if (failed()) return failure_->error;
  done_ = true;
  return {};
}

}  // namespace horae::postgres
