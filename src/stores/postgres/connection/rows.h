// What a statement answered, in PostgreSQL's binary format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/uuid.h"
#include "model/settle.h"

struct pg_result;  // libpq's

namespace horae::postgres {

// One row; valid as long as its Rows. Columns count from 0. The reader must ask for the type that the statement
// answers; nulls only through the optional_ forms, elsewhere they read as zero or empty.
class Row {
 public:
  Row(const pg_result* result, int row) : result_(result), row_(row) {}

  bool is_null(int column) const;
  bool boolean(int column) const;
  std::int64_t integer(int column) const;  // of smallint, integer and bigint
  int small(int column) const { return static_cast<int>(integer(column)); }
  double real(int column) const;
  std::string_view view(int column) const;  // the raw bytes: of text and bytea their contents
  std::string text(int column) const { return std::string(view(column)); }
  Uuid uuid(int column) const;
  Instant instant(int column) const;
  Duration duration(int column) const { return Duration(integer(column)); }  // of nanoseconds
  std::vector<std::optional<std::string>> texts(int column) const;           // of text[]

  std::optional<std::int64_t> optional_integer(int column) const;
  std::optional<std::string> optional_text(int column) const;
  std::optional<Instant> optional_instant(int column) const;
  std::optional<Duration> optional_duration(int column) const;

  // From two columns: the event, or null, and the owner.
  std::optional<AttemptEnd> attempt_end(int column) const;

 private:
  const pg_result* result_;
  int row_;
};

class Rows {
 public:
  class Iterator {
   public:
    Iterator(const pg_result* result, int row) : result_(result), row_(row) {}
    Row operator*() const { return {result_, row_}; }
    Iterator& operator++() {
      ++row_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const pg_result* result_;
    int row_;
  };

  Rows() = default;
  explicit Rows(pg_result* result);  // takes it over

  int size() const;
  bool empty() const { return size() == 0; }
  Row operator[](int row) const { return {result_.get(), row}; }
  Iterator begin() const { return {result_.get(), 0}; }
  Iterator end() const { return {result_.get(), size()}; }

  // How many rows an INSERT, UPDATE or DELETE touched.
  std::size_t affected() const;

 private:
  std::shared_ptr<pg_result> result_;
};

}  // namespace horae::postgres
