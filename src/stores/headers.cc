#include "stores/headers.h"

#include <optional>
#include <utility>

#include "base/json_scan.h"
#include "base/json_text.h"
#include "base/text/base64.h"
#include "base/utf8.h"

namespace horae {
namespace {

constexpr std::string_view kBase64 = "base64";

void append_bytes(std::string& out, std::string_view bytes) {
  if (is_text(bytes)) return append_json_string(out, bytes);
  out += R"({"base64":")";
  out += to_base64(bytes);
  out += "\"}";
}

void append_header(std::string& out, const MessageHeader& header) {
  const bool is_named_by_text = is_text(header.name);
  out += is_named_by_text ? '{' : '[';
  append_bytes(out, header.name);
  out += is_named_by_text ? ':' : ',';
  if (header.value) {
    append_bytes(out, *header.value);
  } else {
    out += "null";
  }
  out += is_named_by_text ? '}' : ']';
}

// Text, or {"base64":"..."}.
std::optional<std::string> read_bytes(std::string_view value) {
  if (kind_of(value) == JsonKind::kString) return unescape_json(value);
  if (kind_of(value) != JsonKind::kObject) return std::nullopt;
  const auto members = scan_object(value);
  if (!members.ok() || members->size() != 1 || members->front().key != kBase64) return std::nullopt;
  if (kind_of(members->front().value) != JsonKind::kString) return std::nullopt;
  return from_base64(unescape_json(members->front().value));
}

std::optional<MessageHeader> header_of(std::optional<std::string> name, std::string_view value) {
  if (!name) return std::nullopt;
  if (kind_of(value) == JsonKind::kNull) return MessageHeader{std::move(*name), std::nullopt};
  auto bytes = read_bytes(value);
  if (!bytes) return std::nullopt;
  return MessageHeader{std::move(*name), std::move(bytes)};
}

std::optional<MessageHeader> read_header(std::string_view element) {
  if (kind_of(element) == JsonKind::kArray) {
    const auto parts = scan_array(element);
    if (!parts.ok() || parts->size() != 2) return std::nullopt;
    return header_of(read_bytes(parts->front()), parts->back());
  }
  if (kind_of(element) != JsonKind::kObject) return std::nullopt;
  const auto members = scan_object(element);
  if (!members.ok() || members->size() != 1) return std::nullopt;
  return header_of(unescape_json("\"" + std::string(members->front().key) + "\""), members->front().value);
}

}  // namespace

std::string encode_headers(const std::vector<MessageHeader>& headers) {
  std::string out = "[";
  for (const MessageHeader& header : headers) {
    if (out.size() > 1) out += ',';
    append_header(out, header);
  }
  return out += ']';
}

Result<std::vector<MessageHeader>> decode_headers(std::string_view text) {
  std::vector<MessageHeader> headers;
  if (text == "[]") return headers;
  const Error damaged{ErrorCode::kInternal,
                      "the stored headers of a message are damaged; restore the database from a backup"};
  const auto value = scan_json(text);
  if (!value.ok() || kind_of(*value) != JsonKind::kArray) return damaged;
  const auto elements = scan_array(text);
  if (!elements.ok()) return damaged;
  for (const std::string_view element : *elements) {
    auto header = read_header(element);
    if (!header) return damaged;
    headers.push_back(std::move(*header));
  }
  return headers;
}

}  // namespace horae
