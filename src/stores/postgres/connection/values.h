// Statements that take rows as VALUES lists.
//
// For a few rows of many columns this is far quicker than an array for each column: PostgreSQL materialises each array
// of unnest() by itself (17 arrays of 4 elements cost five times as much as the insert). A statement is prepared for 1,
// 2, 4, ... 64 rows, and any number of rows is sent as a few of these.
#pragma once

#include <bit>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "stores/postgres/connection/connection.h"

namespace horae::postgres {

class ValuesStatement {
 public:
  static constexpr std::size_t kMostRows = 64;  // of one statement

  // `before` and `after` the list; `columns` of each row. `more` follows the values of each row: ", horae_now()". The
  // first `fixed` parameters belong to the statement, not to the rows.
  ValuesStatement(const std::string& name, const std::string& before, int columns, const std::string& after,
                  const std::string& more = "", int fixed = 0);

  // `write(row, params)` adds the values of one row. The tickets are those of the statements sent, in order.
  template <typename Rows, typename Write>
  std::vector<std::size_t> send(Transaction& transaction, const Rows& rows, Write write) const {
    std::vector<std::size_t> tickets;
    auto row = rows.begin();
    for (std::size_t left = rows.size(); left > 0;) {
      const std::size_t size = std::min(std::bit_floor(left), kMostRows);
      Params params;
      for (std::size_t i = 0; i < size; ++i) write(*row++, params);
      tickets.push_back(transaction.send(of_size(size), params));
      left -= size;
    }
    return tickets;
  }

  // All rows in one statement; there are kMostRows of them at most. It is filled up with rows that were made by their
  // default constructor, one at least: the statement must know them. `params` are the fixed ones.
  template <typename Row, typename Write>
  std::size_t send_as_one(Transaction& transaction, Params params, const std::vector<Row>& rows, Write write) const {
    HORAE_CHECK(rows.size() <= kMostRows, "they go into one statement");
    const std::size_t size = std::bit_ceil(rows.size());
    for (const Row& row : rows) write(row, params);
    for (std::size_t i = rows.size(); i < size; ++i) write(Row(), params);
    return transaction.send(of_size(size), params);
  }

 private:
  const Sql& of_size(std::size_t size) const { return by_size_[static_cast<std::size_t>(std::countr_zero(size))]; }

  std::vector<Sql> by_size_;  // for 1, 2, 4, ... rows
};

}  // namespace horae::postgres
