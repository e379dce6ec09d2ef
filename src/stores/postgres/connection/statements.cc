#include "stores/postgres/connection/statements.h"

#include <string>

#include "base/check.h"

namespace horae::postgres {

Sql statement(std::string_view name, Changes changes) {
  const std::string_view text = statement_text(postgres_statements(), name);
  const bool writes = text.starts_with("insert ") || text.starts_with("update ") || text.starts_with("delete ");
  HORAE_CHECK(!writes || changes != Changes::kNone, "how many rows must it change? " + std::string(name));
  return {std::string(name), std::string(text), changes};
}

}  // namespace horae::postgres
