#include "bench/postgres_yardstick.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace horae::bench {
namespace {

constexpr int kMaxParameters = 16;
constexpr int kBinary = 1;

// From pg_type.dat; they never change.
constexpr Oid kInt8 = 20;
constexpr Oid kInt2 = 21;
constexpr Oid kInt4 = 23;
constexpr Oid kText = 25;
constexpr Oid kUuid = 2950;

// Integers are sent in network byte order.
template <typename Integer>
void put_integer(std::string& out, Integer value) {
  for (int shift = 8 * static_cast<int>(sizeof(value)) - 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift));
  }
}

template <typename Integer>
Integer get_integer(const char* bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return static_cast<Integer>(value);
}

void put(std::string& out, std::int16_t value) { put_integer(out, value); }
void put(std::string& out, std::int32_t value) { put_integer(out, value); }
void put(std::string& out, std::int64_t value) { put_integer(out, value); }
void put(std::string& out, std::string_view value) { out.append(value); }
void put(std::string& out, const Uuid& value) {
  out.append(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
}

std::size_t size_of(std::string_view value) { return value.size(); }
template <typename Fixed>
std::size_t size_of(const Fixed&) {
  return sizeof(Fixed);
}

// One dimension, no nulls, counted from 1: array_recv() of the server reads it.
template <typename Element>
std::string encode_array(Oid type, const std::vector<Element>& values) {
  std::string out;
  out.reserve(20 + values.size() * (4 + (values.empty() ? 0 : size_of(values.front()))));
  put_integer<std::int32_t>(out, values.empty() ? 0 : 1);
  put_integer<std::int32_t>(out, 0);
  put_integer(out, type);
  if (values.empty()) return out;
  put_integer(out, static_cast<std::int32_t>(values.size()));
  put_integer<std::int32_t>(out, 1);
  for (const Element& value : values) {
    put_integer(out, static_cast<std::int32_t>(size_of(value)));
    put(out, value);
  }
  return out;
}

template <typename Value>
std::string encode_value(const Value& value) {
  std::string out;
  put(out, value);
  return out;
}

}  // namespace

std::string encode(std::int16_t value) { return encode_value(value); }
std::string encode(std::int32_t value) { return encode_value(value); }
std::string encode(double value) { return encode_value(std::bit_cast<std::int64_t>(value)); }
std::string encode(std::string_view value) { return std::string(value); }
std::string encode(const std::vector<std::int16_t>& values) { return encode_array(kInt2, values); }
std::string encode(const std::vector<std::int32_t>& values) { return encode_array(kInt4, values); }
std::string encode(const std::vector<std::int64_t>& values) { return encode_array(kInt8, values); }
std::string encode(const std::vector<Uuid>& values) { return encode_array(kUuid, values); }
std::string encode(const std::vector<std::string_view>& values) { return encode_array(kText, values); }

std::int64_t BareRows::affected() const { return std::stoll(PQcmdTuples(result_.get())); }

std::int32_t BareRows::int32(int row, int column) const {
  return get_integer<std::int32_t>(PQgetvalue(result_.get(), row, column));
}

std::int64_t BareRows::int64(int row, int column) const {
  return get_integer<std::int64_t>(PQgetvalue(result_.get(), row, column));
}

Uuid BareRows::uuid(int row, int column) const {
  Uuid uuid;
  std::memcpy(uuid.bytes.data(), PQgetvalue(result_.get(), row, column), uuid.bytes.size());
  return uuid;
}

std::string_view BareRows::text(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

BareConnection::BareConnection(const std::string& url, std::string_view schema)
    : connection_(PQconnectdb(url.c_str())) {
  HORAE_CHECK(PQstatus(connection_.get()) == CONNECTION_OK, PQerrorMessage(connection_.get()));
  execute(
      fmt::format("set client_min_messages = warning;"
                  "set search_path = {};"
                  "set jit = off;"
                  "set enable_seqscan = off;"
                  "set plan_cache_mode = force_generic_plan",
                  schema));
}

void BareConnection::execute(const std::string& sql) {
  const BareRows done(PQexec(connection_.get(), sql.c_str()));
  HORAE_CHECK(PQstatus(connection_.get()) == CONNECTION_OK && *PQerrorMessage(connection_.get()) == '\0',
              PQerrorMessage(connection_.get()));
}

void BareConnection::prepare(const char* name, const char* sql) {
  const BareRows done(PQprepare(connection_.get(), name, sql, 0, nullptr));
  HORAE_CHECK(*PQerrorMessage(connection_.get()) == '\0', PQerrorMessage(connection_.get()));
}

BareRows BareConnection::run_encoded(const char* name, std::span<const std::string> parameters) {
  HORAE_CHECK(parameters.size() <= kMaxParameters, "no statement here has more");
  std::array<const char*, kMaxParameters> values{};
  std::array<int, kMaxParameters> lengths{};
  std::array<int, kMaxParameters> formats{};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    values[i] = parameters[i].data();
    lengths[i] = static_cast<int>(parameters[i].size());
    formats[i] = kBinary;
  }
  const int count = static_cast<int>(parameters.size());
  if (gathers_) {
    const int sent =
        PQsendQueryPrepared(connection_.get(), name, count, values.data(), lengths.data(), formats.data(), kBinary);
    HORAE_CHECK(sent == 1, PQerrorMessage(connection_.get()));
    ++sent_;
    return BareRows(nullptr);
  }
  return checked(
      PQexecPrepared(connection_.get(), name, count, values.data(), lengths.data(), formats.data(), kBinary));
}

BareRows BareConnection::checked(PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  HORAE_CHECK(status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK, PQerrorMessage(connection_.get()));
  return BareRows(result);
}

void BareConnection::gather() {
  HORAE_CHECK(PQenterPipelineMode(connection_.get()) == 1, "between statements");
  gathers_ = true;
  sent_ = 0;
}

// All statements before a Sync are one transaction.
std::vector<BareRows> BareConnection::finish() {
  HORAE_CHECK(PQpipelineSync(connection_.get()) == 1, PQerrorMessage(connection_.get()));
  std::vector<BareRows> answers;
  for (int i = 0; i < sent_; ++i) {
    answers.push_back(checked(PQgetResult(connection_.get())));
    HORAE_CHECK(PQgetResult(connection_.get()) == nullptr, "one answer for each statement");
  }
  const BareRows sync(PQgetResult(connection_.get()));
  HORAE_CHECK(PQexitPipelineMode(connection_.get()) == 1, PQerrorMessage(connection_.get()));
  gathers_ = false;
  return answers;
}

}  // namespace horae::bench
