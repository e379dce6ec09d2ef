#include "stores/postgres/connection/rights.h"

#include "stores/postgres/connection/connection.h"

namespace horae {
namespace {

// Looks into the catalogue only: it takes no lock on a table of ours. Partitions can be made and dropped by the owner
// of their table alone (or a member of it), who may also read and write it.
constexpr const char* kMissing = R"sql(
  SELECT current_user, NULL
  UNION ALL
  SELECT current_user, 'use a schema: none of its search_path is there'
  WHERE current_schema() IS NULL
  UNION ALL
  SELECT current_user, 'create tables in schema ' || current_schema()
  WHERE NOT has_schema_privilege(current_schema(), 'CREATE')
  UNION ALL
  (SELECT current_user, 'own table ' || relname || ', which is of ' || pg_get_userbyid(relowner)
   FROM pg_class
   WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
     AND NOT pg_has_role(relowner, 'USAGE')
   ORDER BY relname)
)sql";

}  // namespace

Result<PostgresRights> look_up_postgres_rights(const std::string& url) {
  const auto connection = postgres::Connection::open(url);
  if (!connection.ok()) return connection.error();
  const auto rows = (*connection)->run_alone(kMissing);
  if (!rows.ok()) return rows.error();
  PostgresRights rights;
  for (const postgres::Row row : *rows) {
    rights.role = row.text(0);
    if (!row.is_null(1)) rights.missing.push_back(row.text(1));
  }
  return rights;
}

}  // namespace horae
