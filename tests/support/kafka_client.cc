#include "tests/support/kafka_client.h"

#include <librdkafka/rdkafka.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "tests/support/server_process.h"

namespace horae::testing {
namespace {

using Settings = std::vector<std::pair<const char*, std::string>>;

rd_kafka_t* make_client(rd_kafka_type_t type, const Settings& settings, void* opaque = nullptr,
                        void (*on_report)(rd_kafka_t*, const rd_kafka_message_t*, void*) = nullptr) {
  std::array<char, 512> why{};
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  for (const auto& [name, value] : settings) {
    const auto set = rd_kafka_conf_set(conf, name, value.c_str(), why.data(), why.size());
    if (set != RD_KAFKA_CONF_OK) die(std::string("Kafka client: ") + why.data());
  }
  rd_kafka_conf_set(conf, "log_level", "0", why.data(), why.size());
  rd_kafka_conf_set_opaque(conf, opaque);
  if (on_report != nullptr) rd_kafka_conf_set_dr_msg_cb(conf, on_report);
  rd_kafka_t* client = rd_kafka_new(type, conf, why.data(), why.size());
  if (client == nullptr) die(std::string("Kafka client: ") + why.data());
  return client;
}

Bytes bytes_of(const void* data, std::size_t size) {
  return data == nullptr ? Bytes() : Bytes(std::string(static_cast<const char*>(data), size));
}

KafkaRecord record_of(rd_kafka_message_t* message) {
  KafkaRecord record{.key = bytes_of(message->key, message->key_len),
                     .value = bytes_of(message->payload, message->len),
                     .partition = message->partition,
                     .offset = message->offset,
                     .timestamp_ms = rd_kafka_message_timestamp(message, nullptr)};
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return record;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    record.headers.push_back({name, bytes_of(value, size)});
  }
  return record;
}

}  // namespace

struct KafkaSender::Parts {
  rd_kafka_t* client = nullptr;
  std::string failure;
};

KafkaSender::KafkaSender(const std::string& address) : parts_(std::make_unique<Parts>()) {
  const auto on_report = [](rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
      static_cast<Parts*>(opaque)->failure = rd_kafka_err2str(message->err);
  };
  parts_->client = make_client(RD_KAFKA_PRODUCER,
                               {{"bootstrap.servers", address},
                                {"enable.idempotence", "true"},
                                {"linger.ms", "1"},
                                {"partitioner", "murmur2_random"},
                                {"message.max.bytes", "10000000"},
                                {"message.timeout.ms", "300000"},
                                {"socket.nagle.disable", "true"}},
                               parts_.get(), on_report);
}

KafkaSender::~KafkaSender() { rd_kafka_destroy(parts_->client); }

void KafkaSender::send(const std::string& topic, const KafkaRecord& record) {
  while (true) {
    rd_kafka_headers_t* headers = rd_kafka_headers_new(record.headers.size());
    for (const MessageHeader& header : record.headers) {
      rd_kafka_header_add(headers, header.name.data(), static_cast<ssize_t>(header.name.size()),
                          header.value ? header.value->data() : nullptr,
                          static_cast<ssize_t>(header.value ? header.value->size() : 0));
    }
    const auto data = [](const Bytes& bytes) { return bytes ? const_cast<char*>(bytes->data()) : nullptr; };
    const auto size = [](const Bytes& bytes) { return bytes ? bytes->size() : 0; };
    const auto sent = rd_kafka_producev(
        parts_->client, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(record.partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(data(record.key), size(record.key)),
        RD_KAFKA_V_VALUE(data(record.value), size(record.value)), RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
    rd_kafka_poll(parts_->client, 0);
    if (sent == RD_KAFKA_RESP_ERR_NO_ERROR) return;
    rd_kafka_headers_destroy(headers);
    if (sent != RD_KAFKA_RESP_ERR__QUEUE_FULL) die(std::string("cannot send: ") + rd_kafka_err2str(sent));
    rd_kafka_poll(parts_->client, 10);
  }
}

void KafkaSender::flush() {
  rd_kafka_flush(parts_->client, 300'000);
  if (!parts_->failure.empty()) die("a record was not sent: " + parts_->failure);
}

struct KafkaReader::Parts {
  rd_kafka_t* client = nullptr;
  std::string topic;
};

KafkaReader::KafkaReader(const std::string& address, std::string topic)
    : parts_(std::make_unique<Parts>(Parts{.topic = std::move(topic)})) {
  // A group of its own that commits nothing.
  static int number = 0;
  parts_->client = make_client(RD_KAFKA_CONSUMER, {{"bootstrap.servers", address},
                                                   {"group.id", "reader." + parts_->topic + std::to_string(++number)},
                                                   {"enable.auto.commit", "false"},
                                                   {"auto.offset.reset", "earliest"},
                                                   {"topic.metadata.refresh.interval.ms", "1000"},
                                                   {"socket.nagle.disable", "true"},
                                                   {"fetch.message.max.bytes", "10000000"}});
  rd_kafka_poll_set_consumer(parts_->client);
  rd_kafka_topic_partition_list_t* topics = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(topics, parts_->topic.c_str(), RD_KAFKA_PARTITION_UA);
  rd_kafka_subscribe(parts_->client, topics);
  rd_kafka_topic_partition_list_destroy(topics);
}

KafkaReader::~KafkaReader() {
  rd_kafka_consumer_close(parts_->client);
  rd_kafka_destroy(parts_->client);
}

std::optional<KafkaRecord> KafkaReader::next(std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  do {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(parts_->client, 20);
    if (message == nullptr) continue;
    std::optional<KafkaRecord> record;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) record = record_of(message);
    rd_kafka_message_destroy(message);
    if (record) return record;
  } while (std::chrono::steady_clock::now() < end);
  return std::nullopt;
}

std::vector<KafkaRecord> KafkaReader::take(std::size_t count) {
  std::vector<KafkaRecord> records;
  while (records.size() < count) {
    auto record = next(std::chrono::minutes(2));
    if (!record) break;
    records.push_back(std::move(*record));
  }
  return records;
}

std::optional<std::int64_t> committed_offset(const std::string& address, const std::string& group,
                                             const std::string& topic, std::int32_t partition) {
  rd_kafka_t* client = make_client(RD_KAFKA_CONSUMER, {{"bootstrap.servers", address}, {"group.id", group}});
  rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic.c_str(), partition);
  rd_kafka_committed(client, list, 10'000);
  const std::int64_t offset = list->elems[0].offset;
  rd_kafka_topic_partition_list_destroy(list);
  rd_kafka_destroy(client);
  return offset < 0 ? std::nullopt : std::optional(offset);
}

}  // namespace horae::testing
