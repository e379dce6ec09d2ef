#include "kafka/kafka_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <thread>
#include <utility>

#include "base/waker.h"
#include "kafka/kafka_conf.h"
#include "kafka/kafka_record.h"

namespace horae {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kPoll = milliseconds(100);
constexpr Duration kRetry = seconds(1);
constexpr Duration kDrain = seconds(2);  // for the reports of what was purged

const KafkaSettings& defaults() {
  static const KafkaSettings kDefaults = {
      {"linger.ms", "1"},
      {"reconnect.backoff.max.ms", "1000"},  // after an outage of the broker
      {"socket.nagle.disable", "true"},      // or acknowledgements come 40 ms late
      {"queue.buffering.max.messages", "100000"},
      {"queue.buffering.max.kbytes", "131072"},
      {"topic.metadata.refresh.interval.ms", "5000"},  // finds a new topic and new partitions
  };
  return kDefaults;
}

KafkaSettings fixed(const KafkaSinkOptions& options, bool in_batches) {
  KafkaSettings settings = {
      {"client.id", options.client_id},
      {"enable.idempotence", "true"},
      {"acks", "all"},
      {"max.in.flight.requests.per.connection", "5"},
      {"partitioner", "murmur2_random"},  // the default disagrees with Java's
      {"message.max.bytes", "1000000000"},
      {"message.timeout.ms", fmt::format("{}", to_kafka_ms(options.timeout))},
      {"allow.auto.create.topics", "false"},
  };
  if (!in_batches) settings["batch.num.messages"] = "1";
  return settings;
}

// A broker that refuses one message for good refuses the batch that it came in.
bool is_refusal(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE || error == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE ||
         error == RD_KAFKA_RESP_ERR_INVALID_RECORD || error == RD_KAFKA_RESP_ERR_INVALID_MSG;
}

PublishEnd end_of(const rd_kafka_message_t& message) {
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) return PublishEnd::kPublished;
  switch (rd_kafka_message_status(&message)) {
    case RD_KAFKA_MSG_STATUS_NOT_PERSISTED:
      return PublishEnd::kFailed;
    case RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED:
      return PublishEnd::kUnknown;
    case RD_KAFKA_MSG_STATUS_PERSISTED:
      return PublishEnd::kPublished;
  }
  return PublishEnd::kUnknown;
}

// A ticket travels as the pointer that librdkafka keeps for each message.
void* to_opaque(std::uint64_t ticket) { return std::bit_cast<void*>(ticket); }
std::uint64_t ticket_of(const rd_kafka_message_t& message) { return std::bit_cast<std::uint64_t>(message._private); }

void* data_of(const Bytes& bytes) { return bytes ? const_cast<char*>(bytes->data()) : nullptr; }
std::size_t size_of(const Bytes& bytes) { return bytes ? bytes->size() : 0; }

// One client of librdkafka with the queue of its reports.
struct Producer {
  KafkaHandle client;
  KafkaTopic topic;   // before the client: declared after it, so destroyed first
  KafkaQueue events;  //
};

}  // namespace

// Threads: one takes the reports and replaces a producer with a fatal error; publish() may be called on any.
class KafkaSink::Core {
 public:
  Core(KafkaSinkOptions options, const Clock& clock, const Logger& log, std::function<void()> wake)
      : options_(std::move(options)), clock_(clock), wake_(std::move(wake)), owner_(log, clock, this) {}

  void start() {
    is_stopping_ = false;
    (void)open();
    reporter_ = std::thread([this] { run(); });
  }

  void stop(Duration grace) {
    grace_ = grace;
    is_stopping_ = true;
    waker_.wake();
    if (reporter_.joinable()) reporter_.join();
  }

  std::size_t publish(std::vector<Publication>& messages) {
    const auto producer = current();
    if (producer == nullptr || is_stopping_) return 0;
    std::size_t taken = 0;
    std::vector<PublishReport> refused;
    for (Publication& message : messages) {
      const auto error = produce(*producer, message);
      if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) break;
      if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
        refused.push_back({.ticket = message.ticket,
                           .end = is_refusal(error) ? PublishEnd::kRefused : PublishEnd::kFailed,
                           .reason = rd_kafka_err2str(error)});
      }
      message = {};
      ++taken;
    }
    put(std::move(refused));
    return taken;
  }

  std::vector<PublishReport> take_reports() {
    const std::lock_guard lock(mutex_);
    return std::exchange(reports_, {});
  }

  SinkStatus status() {
    const std::lock_guard lock(mutex_);
    return {.is_connected = is_connected_, .problem = problem_};
  }

  void raise_fatal_error() {
    const auto producer = current();
    if (producer != nullptr) {
      (void)rd_kafka_test_fatal_error(producer->client.get(), RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "a test");
    }
  }

 private:
  std::shared_ptr<Producer> current() {
    const std::lock_guard lock(mutex_);
    return producer_;
  }

  static rd_kafka_resp_err_t produce(Producer& producer, const Publication& message) {
    std::array<rd_kafka_vu_t, 7> parts{};
    std::size_t count = 0;
    const auto next = [&](rd_kafka_vtype_t type) -> auto& {
      parts.at(count).vtype = type;
      return parts.at(count++).u;
    };
    next(RD_KAFKA_VTYPE_RKT).rkt = producer.topic.get();
    next(RD_KAFKA_VTYPE_PARTITION).i32 = RD_KAFKA_PARTITION_UA;
    next(RD_KAFKA_VTYPE_MSGFLAGS).i = RD_KAFKA_MSG_F_COPY;
    next(RD_KAFKA_VTYPE_OPAQUE).ptr = to_opaque(message.ticket);
    next(RD_KAFKA_VTYPE_KEY).mem = {.ptr = data_of(message.key), .size = size_of(message.key)};
    next(RD_KAFKA_VTYPE_VALUE).mem = {.ptr = data_of(message.value), .size = size_of(message.value)};
    KafkaHeaders headers = headers_of(message.headers);
    if (headers != nullptr) next(RD_KAFKA_VTYPE_HEADERS).headers = headers.get();
    const KafkaError failed(rd_kafka_produceva(producer.client.get(), parts.data(), count));
    if (failed != nullptr) return rd_kafka_error_code(failed.get());
    (void)headers.release();  // librdkafka owns them now
    return RD_KAFKA_RESP_ERR_NO_ERROR;
  }

  // ---- The thread of the reports ----

  void run() {
    while (!is_stopping_) {
      if (producer_ == nullptr) {  // only this thread changes it
        if (!open()) (void)waker_.wait(clock_.now() + kRetry);
        continue;
      }
      (void)take_event(*producer_, kPoll);
      if (must_replace_) {
        replace();
      } else {
        look(*producer_);
      }
    }
    finish(grace_);
  }

  bool open() {
    auto conf = make_kafka_conf(
        owner_, {.given = options_.settings, .defaults = defaults(), .fixed = fixed(options_, in_batches_)});
    if (!conf.ok()) {
      note(false, conf.error().message);
      return false;
    }
    rd_kafka_conf_set_events(conf->get(), RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR);
    auto client = make_kafka_client(RD_KAFKA_PRODUCER, std::move(*conf));
    if (!client.ok()) {
      note(false, client.error().message);
      return false;
    }
    auto producer = std::make_shared<Producer>();
    producer->client = std::move(*client);
    producer->topic.reset(rd_kafka_topic_new(producer->client.get(), options_.topic.c_str(), nullptr));
    producer->events.reset(rd_kafka_queue_get_main(producer->client.get()));
    must_replace_ = false;
    next_look_ = {};
    const std::lock_guard lock(mutex_);
    producer_ = std::move(producer);
    return true;
  }

  // False if none came.
  bool take_event(Producer& producer, Duration wait) {
    const KafkaEvent event(rd_kafka_queue_poll(producer.events.get(), to_kafka_ms(wait)));
    if (event == nullptr) return false;
    if (rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_DR) {
      take_reports_of(*event);
    } else if (rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_ERROR) {
      take_error(producer, *event);
    }
    return true;
  }

  void take_reports_of(rd_kafka_event_t& event) {
    std::vector<const rd_kafka_message_t*> messages(rd_kafka_event_message_count(&event));
    messages.resize(rd_kafka_event_message_array(&event, messages.data(), messages.size()));
    std::vector<PublishReport> reports;
    reports.reserve(messages.size());
    bool is_any_published = false;
    for (const rd_kafka_message_t* message : messages) {
      PublishReport report{.ticket = ticket_of(*message), .end = end_of(*message), .reason = ""};
      if (report.end != PublishEnd::kPublished) report.reason = rd_kafka_err2str(message->err);
      if (is_refusal(message->err)) report.end = end_of_refused(messages.size());
      (report.end == PublishEnd::kPublished ? is_any_published : must_look_) = true;
      reports.push_back(std::move(report));
    }
    if (is_any_published) note(true, "");
    was_published_ = was_published_ || is_any_published;
    put(std::move(reports));
  }

  // A single message is refused itself. Of a batch, the broker does not say which one it means: they are tried again one
  // by one, by a producer without batches.
  PublishEnd end_of_refused(std::size_t batch) {
    if (batch == 1) return PublishEnd::kRefused;
    if (in_batches_) {
      owner_.log.warn("the broker refuses a batch of messages; from now on they are published one by one",
                      {{"topic", options_.topic}, {"messages", batch}});
    }
    in_batches_ = false;
    must_replace_ = true;
    return PublishEnd::kFailed;
  }

  void take_error(Producer& producer, rd_kafka_event_t& event) {
    const auto error = rd_kafka_event_error(&event);
    const std::string reason = rd_kafka_event_error_string(&event);
    std::array<char, 512> why{};
    if (rd_kafka_fatal_error(producer.client.get(), why.data(), why.size()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      owner_.log.warn("the producer has a fatal error and is replaced",
                      {{"topic", options_.topic}, {"reason", std::string(why.data())}});
      must_replace_ = true;
    } else if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
      note(false, fmt::format("no Kafka broker answers: {}", reason));
    } else {
      owner_.log.debug("the producer reports an error", {{"topic", options_.topic}, {"reason", reason}});
    }
  }

  // What the old producer has still to publish goes on for a moment, unless it cannot; then a new one is made.
  void replace() {
    finish(kRetry);
    (void)open();
  }

  // Each message that was taken is reported before the producer goes. One that publish() has in hand meanwhile keeps the
  // producer alive by its pointer, and waits for it here.
  void finish(Duration grace) {
    std::shared_ptr<Producer> old;
    {
      const std::lock_guard lock(mutex_);
      old = std::move(producer_);
      producer_.reset();
    }
    if (old == nullptr) return;
    while (old.use_count() > 1) (void)take_event(*old, milliseconds(1));
    drain(*old, grace);
    (void)rd_kafka_purge(old->client.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    drain(*old, kDrain);
  }

  void drain(Producer& producer, Duration time) {
    const MonotonicTime end = clock_.now() + time;
    while (rd_kafka_outq_len(producer.client.get()) > 0 && clock_.now() < end) {
      (void)take_event(producer, milliseconds(10));
    }
    while (take_event(producer, {})) {
    }
  }

  // Until a message has been published, and after each that was not, only this says why. It asks the broker, but blocks
  // reports for as long as it takes, so it comes at most once a second.
  void look(Producer& producer) {
    const MonotonicTime now = clock_.now();
    if ((was_published_ && !must_look_) || now < next_look_) return;
    KafkaLook found = look_at_topic(producer.client.get(), producer.topic.get(), kPoll * 3);
    if (found.problem.empty()) {
      must_look_ = false;
      was_published_ = true;
    }
    note(found.is_connected, std::move(found.problem));
    next_look_ = clock_.now() + kRetry;
  }

  void note(bool is_connected, std::string problem) {
    const std::lock_guard lock(mutex_);
    if (problem != problem_ && !problem.empty()) {
      owner_.log.warn("the output waits", {{"topic", options_.topic}, {"reason", problem}});
    }
    if (!problem.empty()) must_look_ = true;
    is_connected_ = is_connected;
    problem_ = std::move(problem);
  }

  void put(std::vector<PublishReport> reports) {
    if (reports.empty()) return;
    {
      const std::lock_guard lock(mutex_);
      reports_.insert(reports_.end(), std::make_move_iterator(reports.begin()), std::make_move_iterator(reports.end()));
    }
    wake_();
  }

  const KafkaSinkOptions options_;
  const Clock& clock_;
  const std::function<void()> wake_;
  KafkaOwner owner_;
  Waker waker_;
  std::atomic<bool> is_stopping_ = false;
  Duration grace_{};  // written before is_stopping_ is
  std::thread reporter_;

  // Used by the thread of the reports only, and by start() before it.
  bool in_batches_ = true;
  bool must_replace_ = false;
  bool was_published_ = false;
  bool must_look_ = false;
  MonotonicTime next_look_{};

  std::mutex mutex_;
  std::shared_ptr<Producer> producer_;                  // guarded by mutex_
  std::vector<PublishReport> reports_;                  // guarded by mutex_
  bool is_connected_ = false;                           // guarded by mutex_
  std::string problem_ = "not connected to Kafka yet";  // guarded by mutex_
};

KafkaSink::KafkaSink(KafkaSinkOptions options, const Clock& clock, const Logger& log, std::function<void()> wake)
    : core_(std::make_unique<Core>(std::move(options), clock, log, std::move(wake))) {}
KafkaSink::~KafkaSink() { core_->stop({}); }

void KafkaSink::start() { core_->start(); }
void KafkaSink::stop(Duration grace) { core_->stop(grace); }
std::size_t KafkaSink::publish(std::vector<Publication>& messages) { return core_->publish(messages); }
std::vector<PublishReport> KafkaSink::take_reports() { return core_->take_reports(); }
SinkStatus KafkaSink::status() const { return core_->status(); }
void KafkaSink::raise_fatal_error() { core_->raise_fatal_error(); }

}  // namespace horae
