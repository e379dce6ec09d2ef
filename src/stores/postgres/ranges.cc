#include "stores/postgres/ranges.h"

namespace horae::postgres {

std::vector<Range> ranges_of(std::vector<std::int64_t> numbers) {
  std::ranges::sort(numbers);
  std::vector<Range> ranges;
  for (const std::int64_t number : numbers) {
    if (!ranges.empty() && number <= ranges.back().hi + 1) {
      ranges.back().hi = number;
    } else {
      ranges.push_back({number, number});
    }
  }
  return ranges;
}

void ArrayText::add(std::string_view text) {
  if (text_.size() > 1) text_ += ',';
  text_ += '"';
  for (const char character : text) {
    if (character == '"' || character == '\\') text_ += '\\';
    text_ += character;
  }
  text_ += '"';
}

void ArrayText::add_null() {
  if (text_.size() > 1) text_ += ',';
  text_ += "NULL";
}

std::string ArrayText::take() {
  text_ += '}';
  return std::move(text_);
}

}  // namespace horae::postgres
