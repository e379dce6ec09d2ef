#include "stores/postgres/chronos_table.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "base/quote.h"
#include "stores/headers.h"
#include "stores/postgres/connection/connection.h"
#include "stores/postgres/connection/statements.h"

namespace horae {
namespace postgres {
namespace {

const Sql kColumns = statement("chronos_columns");

// Its text depends on the types of the columns, so it is not in an .sql file. By the primary key on the id.
Sql read_statement(const std::string& table, const std::map<std::string, std::string>& types) {
  const bool has_zone = types.at("deadline") == "timestamp with time zone";
  const bool is_blob = types.at("message_value") == "bytea";
  const bool is_blob_key = types.at("message_key") == "bytea";
  const auto bytes = [](std::string_view column, bool is_bytea) {
    return is_bytea ? std::string(column) : fmt::format("convert_to({}::text, 'UTF8')", column);
  };
  return {"chronos_read",
          fmt::format(
              "select id::text, {} as deadline, {} as key, {} as value, coalesce(case jsonb_typeof(h)"
              " when 'array' then (select jsonb_agg(jsonb_build_object(e.key, e.value) order by x.place)"
              " from jsonb_array_elements(h) with ordinality as x(item, place) cross join jsonb_each_text(x.item) as e)"
              " when 'object' then (select jsonb_agg(jsonb_build_object(e.key, e.value)) from jsonb_each_text(h) as e)"
              " end, '[]')::text as headers"
              " from {} as t cross join lateral (select t.message_headers::jsonb as h) as headers"
              " where id > $1::text order by id limit $2::bigint",
              has_zone ? "deadline" : "deadline at time zone 'UTC'", bytes("message_key", is_blob_key),
              bytes("message_value", is_blob), table)};
}

class Table final : public ChronosTable {
 public:
  Table(std::unique_ptr<Connection> connection, Sql read)
      : connection_(std::move(connection)), read_(std::move(read)) {}

  Result<std::vector<Message>> read(std::string_view after, std::size_t max) override {
    Transaction transaction(*connection_, Transaction::Kind::kSnapshot);
    const auto ticket = transaction.send(read_, Params::of(after, static_cast<std::int64_t>(max)));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    std::vector<Message> messages;
    for (const Row row : transaction.rows(ticket)) {
      auto headers = decode_headers(row.view(4));
      if (!headers.ok()) return headers.error();
      std::erase_if(*headers, [](const MessageHeader& header) {
        return header.name == kMessageIdHeader || header.name == kDeadlineHeader;
      });
      messages.push_back({.id = row.text(0),
                          .deadline = row.instant(1),
                          .key = row.optional_text(2),
                          .value = row.optional_text(3),
                          .headers = std::move(*headers)});
    }
    return messages;
  }

 private:
  const std::unique_ptr<Connection> connection_;
  const Sql read_;
};

}  // namespace
}  // namespace postgres

Result<std::unique_ptr<ChronosTable>> open_chronos_table(const std::string& url, const std::string& table) {
  auto connection = postgres::Connection::open(url);
  if (!connection.ok()) return connection.error();
  const std::vector<std::string> names =
      table.empty() ? std::vector<std::string>{"hanger", "schedules"} : std::vector<std::string>{table};
  std::string name;
  std::map<std::string, std::string> types;
  {
    postgres::Transaction transaction(**connection, postgres::Transaction::Kind::kSnapshot);
    const auto ticket = transaction.send(postgres::kColumns, postgres::Params::of(names));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    for (const postgres::Row row : transaction.rows(ticket)) {
      name = row.text(0);
      types[row.text(1)] = row.text(2);
    }
  }
  if (types.empty()) {
    return Error{ErrorCode::kNotFound,
                 table.empty() ? std::string("the database has no table hanger or schedules; name the one of Chronos")
                               : fmt::format("the database has no table {}", quote(table))};
  }
  for (const char* column : {"id", "deadline", "message_headers", "message_key", "message_value"}) {
    if (types.contains(column)) continue;
    return Error{ErrorCode::kRefused, fmt::format("table {} has no column {}: it is not one of Chronos", name, column)};
  }
  return std::unique_ptr<ChronosTable>(
      std::make_unique<postgres::Table>(std::move(*connection), postgres::read_statement(name, types)));
}

}  // namespace horae
