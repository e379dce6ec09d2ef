#include "stores/headers.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

namespace horae {
namespace {

constexpr std::int64_t kNull = -1;  // as the length of a value that is not there

void append_length(std::string& out, std::int64_t length) {
  std::array<char, sizeof length> raw{};
  std::memcpy(raw.data(), &length, sizeof length);
  out.append(raw.data(), raw.size());
}

std::optional<std::int64_t> take_length(std::string_view& rest) {
  std::int64_t length = 0;
  if (rest.size() < sizeof length) return std::nullopt;
  std::memcpy(&length, rest.data(), sizeof length);
  rest.remove_prefix(sizeof length);
  if (length < kNull || length > static_cast<std::int64_t>(rest.size())) return std::nullopt;
  return length;
}

std::string take_bytes(std::string_view& rest, std::int64_t length) {
  std::string bytes(rest.substr(0, static_cast<std::size_t>(length)));
  rest.remove_prefix(static_cast<std::size_t>(length));
  return bytes;
}

}  // namespace

std::string encode_headers(const std::vector<MessageHeader>& headers) {
  std::string out;
  for (const MessageHeader& header : headers) {
    append_length(out, static_cast<std::int64_t>(header.name.size()));
    out += header.name;
    append_length(out, header.value ? static_cast<std::int64_t>(header.value->size()) : kNull);
    if (header.value) out += *header.value;
  }
  return out;
}

Result<std::vector<MessageHeader>> decode_headers(std::string_view blob) {
  const Error damaged{ErrorCode::kInternal,
                      "the stored headers of a message are damaged; restore the database from a backup"};
  std::vector<MessageHeader> headers;
  while (!blob.empty()) {
    const auto name_length = take_length(blob);
    if (!name_length || *name_length == kNull) return damaged;
    MessageHeader header{.name = take_bytes(blob, *name_length)};
    const auto value_length = take_length(blob);
    if (!value_length) return damaged;
    if (*value_length != kNull) header.value = take_bytes(blob, *value_length);
    headers.push_back(std::move(header));
  }
  return headers;
}

}  // namespace horae
