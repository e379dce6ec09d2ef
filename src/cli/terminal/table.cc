#include "cli/terminal/table.h"

#include <algorithm>
#include <ostream>

#include "base/check.h"

namespace horae::cli {
namespace {

std::string blanks(std::size_t count) { return std::string(count, ' '); }

}  // namespace

void Table::add(std::vector<Cell> row) {
  HORAE_CHECK(row.size() == columns_.size(), "a row has a cell for each column");
  for (Cell& cell : row) cell.text = printable(cell.text);
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = width_of(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[i].text));
    widths.push_back(width);
  }
  return widths;
}

void Table::print_row(const Console& console, const std::vector<Cell>& row,
                      const std::vector<std::size_t>& widths) const {
  std::string line;
  std::size_t pending = 0;  // blanks to write if another cell follows
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::size_t room = widths[i] - width_of(row[i].text);
    const bool is_right = columns_[i].align == Align::kRight;
    if (!row[i].text.empty()) {
      line += blanks(pending + (is_right ? room : 0)) + painted(console, row[i].colour, row[i].text);
      pending = is_right ? 0 : room;
    } else {
      pending += widths[i];
    }
    pending += 2;
  }
  console.out << line << '\n';
}

void Table::print(const Console& console) const {
  const auto columns = widths();
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.push_back({column.title, Colour::kGrey});
  print_row(console, titles, columns);
  for (const auto& row : rows_) print_row(console, row, columns);
}

void Fields::add(std::string name, const std::string& value, Colour colour) {
  if (value.empty()) return;
  fields_.push_back({std::move(name), {printable(value), colour}});
}

void Fields::print(const Console& console) const {
  std::size_t width = 0;
  for (const Field& field : fields_) width = std::max(width, width_of(field.name));
  for (const Field& field : fields_) {
    console.out << painted(console, Colour::kGrey, field.name) << blanks(width - width_of(field.name) + 2)
                << painted(console, field.value.colour, field.value.text) << '\n';
  }
}

}  // namespace horae::cli
