#include "kafka/kafka_record.h"

#include "base/check.h"

namespace horae {
namespace {

Bytes bytes_from(const void* data, std::size_t size) {
  if (data == nullptr) return std::nullopt;
  return std::string(static_cast<const char*>(data), size);
}

std::size_t size_of(const Bytes& bytes) { return bytes ? bytes->size() : 0; }

}  // namespace

SourceRecord record_from(rd_kafka_message_t& message, std::uint64_t assignment) {
  SourceRecord record{.place = {.partition = message.partition, .offset = message.offset},
                      .assignment = assignment,
                      .key = bytes_from(message.key, message.key_len),
                      .value = bytes_from(message.payload, message.len),
                      .headers = {}};
  rd_kafka_headers_t* headers = nullptr;  // owned by the message
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return record;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    record.headers.push_back({.name = name, .value = bytes_from(value, size)});
  }
  return record;
}

std::size_t bytes_of(const SourceRecord& record) {
  std::size_t bytes = sizeof record + size_of(record.key) + size_of(record.value);
  for (const MessageHeader& header : record.headers)
    bytes += sizeof header + header.name.size() + size_of(header.value);
  return bytes;
}

KafkaHeaders headers_of(const std::vector<MessageHeader>& headers) {
  if (headers.empty()) return nullptr;
  KafkaHeaders list(rd_kafka_headers_new(headers.size()));
  for (const MessageHeader& header : headers) {
    const auto added =
        rd_kafka_header_add(list.get(), header.name.data(), static_cast<ssize_t>(header.name.size()),
                            header.value ? header.value->data() : nullptr, static_cast<ssize_t>(size_of(header.value)));
    HORAE_CHECK(added == RD_KAFKA_RESP_ERR_NO_ERROR, "a header is added to a list of this function");
  }
  return list;
}

}  // namespace horae
