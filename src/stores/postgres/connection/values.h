// Statements that take rows as VALUES lists.
//
// For a few rows of many columns this is far faster than an array for each column: PostgreSQL materializes each array
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

  // The statement has one list like `values (:lo, :hi, horae_now())`, which is that of one row: it is repeated for each
  // row, and its `:names` become parameters in their order, after the $1, $2, ... that the statement has besides.
  explicit ValuesStatement(const Sql& sql);

  // The statement for that number of rows: 1, 2, 4, ... or 64.
  const Sql& of_size(std::size_t size) const { return by_size_[static_cast<std::size_t>(std::countr_zero(size))]; }

  // `write(row, params)` adds the values of one row. The tickets are those of the statements sent, in order.
  template <typename Rows, typename Write>
  std::vector<std::size_t> send(Transaction& transaction, const Rows& rows, Write write) const {
    std::vector<std::size_t> tickets;
    auto row = rows.begin();
    for (std::size_t left = rows.size(); left > 0;) {
      const std::size_t size = std::min(std::bit_floor(left), kMostRows);
      Params params;
      for (std::size_t i = 0; i < size; ++i) write(*row++, params);
      tickets.push_back(transaction.send(of_size(size), params, size));
      left -= size;
    }
    return tickets;
  }

  // All rows in one statement; there are kMostRows of them at most. The list is filled up with default-constructed
  // rows, at least one if there are no others: the statement must recognize them. `params` are $1, $2, ...
  template <typename Row, typename Write>
  std::size_t send_as_one(Transaction& transaction, Params params, const std::vector<Row>& rows, Write write) const {
    HORAE_CHECK(rows.size() <= kMostRows, "they go into one statement");
    const std::size_t size = std::bit_ceil(rows.size());
    for (const Row& row : rows) write(row, params);
    for (std::size_t i = rows.size(); i < size; ++i) write(Row(), params);
    return transaction.send(of_size(size), params);
  }

 private:
  std::vector<Sql> by_size_;  // for 1, 2, 4, ... rows
};

}  // namespace horae::postgres
