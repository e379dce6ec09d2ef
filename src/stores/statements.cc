#include "stores/statements.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace horae {

std::string_view statement_text(std::span<const Statement> table, std::string_view name) {
  const auto found = std::ranges::lower_bound(table, name, {}, &Statement::name);
  const bool is_there = found != table.end() && found->name == name;
  HORAE_CHECK(is_there, "there is no statement " + std::string(name));
  return found->text;
}

}  // namespace horae
