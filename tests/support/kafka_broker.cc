#include "tests/support/kafka_broker.h"

#include <librdkafka/rdkafka.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "tests/support/server_process.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

constexpr int kAnswerMs = 30'000;
constexpr const char* kReady = "Kafka Server started";

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// What an admin call answers for its topic; aborts with its error.
template <typename Ask>
void ask_admin(const std::string& address, const std::string& what, rd_kafka_event_type_t answer, Ask ask) {
  std::array<char, 512> why{};
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", address.c_str(), why.data(), why.size());
  rd_kafka_conf_set(conf, "log_level", "0", why.data(), why.size());
  rd_kafka_t* client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why.data(), why.size());
  if (client == nullptr) die(std::string("no Kafka client: ") + why.data());
  rd_kafka_queue_t* queue = rd_kafka_queue_new(client);
  ask(client, queue);
  rd_kafka_event_t* event = rd_kafka_queue_poll(queue, kAnswerMs);
  if (event == nullptr || rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) die(what + ": no answer of Kafka");
  std::size_t count = 0;
  const rd_kafka_topic_result_t** results =
      answer == RD_KAFKA_EVENT_CREATETOPICS_RESULT
          ? rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count)
          : rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event), &count);
  const bool done = count == 1 && rd_kafka_topic_result_error(results[0]) == RD_KAFKA_RESP_ERR_NO_ERROR;
  if (!done) die(what + ": " + (count == 1 ? rd_kafka_err2name(rd_kafka_topic_result_error(results[0])) : "no result"));
  rd_kafka_event_destroy(event);
  rd_kafka_queue_destroy(queue);
  rd_kafka_destroy(client);
}

}  // namespace

struct KafkaBroker::Parts {
  TemporaryFolder folder;
  ReservedPort port;
  ReservedPort controller;
  std::unique_ptr<ServerProcess> process;
  int names = 0;

  std::string log() const { return folder.path() + "/log"; }
};

KafkaBroker::KafkaBroker() : parts_(std::make_unique<Parts>()) { start(); }
KafkaBroker::~KafkaBroker() { kill_hard(); }

std::string KafkaBroker::address() const { return "127.0.0.1:" + std::to_string(parts_->port.number()); }

std::string KafkaBroker::new_name() { return "t" + std::to_string(getpid()) + "." + std::to_string(++parts_->names); }

std::string KafkaBroker::make_topic(const TopicOptions& options) {
  const std::string name = options.name.empty() ? new_name() : options.name;
  ask_admin(address(), "topic " + name, RD_KAFKA_EVENT_CREATETOPICS_RESULT, [&](rd_kafka_t* client, auto* queue) {
    std::array<char, 512> why{};
    rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(name.c_str(), options.partitions, 1, why.data(), why.size());
    HORAE_CHECK(topic != nullptr, "a valid topic");
    for (const auto& [key, value] : options.settings) rd_kafka_NewTopic_set_config(topic, key.c_str(), value.c_str());
    rd_kafka_CreateTopics(client, &topic, 1, nullptr, queue);
    rd_kafka_NewTopic_destroy(topic);
  });
  return name;
}

void KafkaBroker::set_partitions(const std::string& topic, int partitions) {
  ask_admin(address(), "partitions of " + topic, RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT,
            [&](rd_kafka_t* client, auto* queue) {
              std::array<char, 512> why{};
              rd_kafka_NewPartitions_t* more = rd_kafka_NewPartitions_new(
                  topic.c_str(), static_cast<std::size_t>(partitions), why.data(), why.size());
              HORAE_CHECK(more != nullptr, "a valid number of partitions");
              rd_kafka_CreatePartitions(client, &more, 1, nullptr, queue);
              rd_kafka_NewPartitions_destroy(more);
            });
}

void KafkaBroker::stop() {
  if (!parts_->process) return;
  parts_->process->end_with(SIGTERM);
  parts_->process.reset();
}

void KafkaBroker::kill_hard() {
  if (!parts_->process) return;
  parts_->process->end_with(SIGKILL);
  parts_->process.reset();
}

void KafkaBroker::start() {
  HORAE_CHECK(!parts_->process, "start() needs stop() or kill_hard() first");
  const std::string log = parts_->log();
  std::ofstream(log, std::ios::trunc).close();
  // A JVM takes SIGQUIT as the wish for a dump of its threads.
  parts_->process = std::make_unique<ServerProcess>(
      std::vector<std::string>{HORAE_SOURCE_DIR "/tools/kafka/kafka.sh", "run", parts_->folder.path(),
                               std::to_string(parts_->port.number()), std::to_string(parts_->controller.number())},
      log, ServerProcessOptions{.may_be_root = true, .death_signal = SIGKILL});
  parts_->process->wait_until_ready([&] { return text_of(log).find(kReady) != std::string::npos; });
}

KafkaBroker& shared_kafka() {
  static KafkaBroker broker;
  return broker;
}

}  // namespace horae::testing
