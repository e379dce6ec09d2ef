// The objects of librdkafka, each owned by one pointer. Private to the folder.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>

namespace horae {

template <auto kDestroy>
struct KafkaDeleter {
  template <typename T>
  void operator()(T* object) const {
    kDestroy(object);
  }
};

using KafkaHandle = std::unique_ptr<rd_kafka_t, KafkaDeleter<rd_kafka_destroy>>;
using KafkaConf = std::unique_ptr<rd_kafka_conf_t, KafkaDeleter<rd_kafka_conf_destroy>>;
using KafkaTopic = std::unique_ptr<rd_kafka_topic_t, KafkaDeleter<rd_kafka_topic_destroy>>;
using KafkaQueue = std::unique_ptr<rd_kafka_queue_t, KafkaDeleter<rd_kafka_queue_destroy>>;
using KafkaEvent = std::unique_ptr<rd_kafka_event_t, KafkaDeleter<rd_kafka_event_destroy>>;
using KafkaMessage = std::unique_ptr<rd_kafka_message_t, KafkaDeleter<rd_kafka_message_destroy>>;
using KafkaError = std::unique_ptr<rd_kafka_error_t, KafkaDeleter<rd_kafka_error_destroy>>;
using KafkaHeaders = std::unique_ptr<rd_kafka_headers_t, KafkaDeleter<rd_kafka_headers_destroy>>;
using KafkaPartitions =
    std::unique_ptr<rd_kafka_topic_partition_list_t, KafkaDeleter<rd_kafka_topic_partition_list_destroy>>;
using KafkaMetadata = std::unique_ptr<const rd_kafka_metadata_t, KafkaDeleter<rd_kafka_metadata_destroy>>;

}  // namespace horae
