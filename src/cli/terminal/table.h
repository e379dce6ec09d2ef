// Tables for people, with aligned columns.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/console.h"

namespace horae::cli {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

struct Cell {
  std::string text;  // made printable when it is added
  Colour colour = Colour::kNone;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell for each column.
  void add(std::vector<Cell> row);

  bool empty() const { return rows_.empty(); }

  // Prints the titles and the rows, without blanks at the ends of lines.
  void print(const Console& console) const;

 private:
  std::vector<std::size_t> widths() const;
  void print_row(const Console& console, const std::vector<Cell>& row, const std::vector<std::size_t>& widths) const;

  const std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// A list of names and values, one per line. Omits empty values.
class Fields {
 public:
  void add(std::string name, const std::string& value, Colour colour = Colour::kNone);
  void print(const Console& console) const;

 private:
  struct Field {
    std::string name;
    Cell value;
  };
  std::vector<Field> fields_;
};

}  // namespace horae::cli
