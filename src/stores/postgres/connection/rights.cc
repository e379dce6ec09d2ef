#include "stores/postgres/connection/rights.h"

#include "stores/postgres/connection/connection.h"
#include "stores/postgres/connection/statements.h"

namespace horae {
Result<PostgresRights> look_up_postgres_rights(const std::string& url) {
  const auto connection = postgres::Connection::open(url);
  if (!connection.ok()) return connection.error();
  const auto rows = (*connection)->run_alone(postgres::statement("missing_rights").text);
  if (!rows.ok()) return rows.error();
  PostgresRights rights;
  for (const postgres::Row row : *rows) {
    rights.role = row.text(0);
    if (!row.is_null(1)) rights.missing.push_back(row.text(1));
  }
  return rights;
}

}  // namespace horae
