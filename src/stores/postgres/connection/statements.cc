#include "stores/postgres/connection/statements.h"

#include <string>

namespace horae::postgres {

Sql statement(std::string_view name) {
  return {std::string(name), std::string(statement_text(postgres_statements(), name))};
}

}  // namespace horae::postgres
