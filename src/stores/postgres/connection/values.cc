#include "stores/postgres/connection/values.h"

#include <fmt/format.h>

namespace horae::postgres {

ValuesStatement::ValuesStatement(const std::string& name, const std::string& before, int columns,
                                 const std::string& after, const std::string& more, int fixed) {
  for (std::size_t size = 1; size <= kMostRows; size *= 2) {
    std::string list;
    int parameter = fixed;
    for (std::size_t row = 0; row < size; ++row) {
      list += row == 0 ? "(" : ", (";
      for (int column = 0; column < columns; ++column)
        list += fmt::format("{}${}", column == 0 ? "" : ", ", ++parameter);
      list += more + ")";
    }
    by_size_.push_back({fmt::format("{}_{}", name, size), fmt::format("{} values {}{}", before, list, after)});
  }
}

}  // namespace horae::postgres
