// Records as librdkafka has them. Private to the folder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/relay/source.h"
#include "kafka/handles.h"

namespace horae {

// Bytes, headers and their order as they are; null and empty told apart.
SourceRecord record_from(rd_kafka_message_t& message, std::uint64_t assignment);

// What a record takes in memory, about.
std::size_t bytes_of(const SourceRecord& record);

// Nothing without headers; librdkafka makes an empty list of that.
KafkaHeaders headers_of(const std::vector<MessageHeader>& headers);

}  // namespace horae
