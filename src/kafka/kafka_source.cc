#include "kafka/kafka_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/waker.h"
#include "kafka/kafka_conf.h"
#include "kafka/kafka_record.h"
#include "kafka/offset_prefix.h"

namespace horae {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kPoll = milliseconds(100);
constexpr Duration kRetry = seconds(1);      // of a client that cannot be made, and of looks at the topic
constexpr Duration kNotPolled = seconds(2);  // closed for longer: the partitions are paused
constexpr Duration kNotPolledStep = milliseconds(250);
constexpr Duration kHandOver = seconds(2);  // for the records that were taken when partitions are revoked
constexpr Duration kHandOverStep = milliseconds(50);

const KafkaSettings& defaults() {
  static const KafkaSettings kDefaults = {
      {"session.timeout.ms", "6000"},                  // a dead node's partitions wait that long
      {"heartbeat.interval.ms", "2000"},               //
      {"topic.metadata.refresh.interval.ms", "5000"},  // finds a new topic and new partitions
      {"reconnect.backoff.max.ms", "1000"},            // after an outage of the broker
      {"socket.nagle.disable", "true"},                // or answers come 40 ms late
      {"queued.min.messages", "20000"},                // a full queue would wait for a second
      {"queued.max.messages.kbytes", "32768"},         //
  };
  return kDefaults;
}

KafkaSettings fixed(const KafkaSourceOptions& options) {
  return {
      {"group.id", options.group},
      {"client.id", options.client_id},
      {"enable.auto.offset.store", "false"},  // done() stores them
      {"enable.auto.commit", "true"},
      {"auto.commit.interval.ms", "200"},
      {"auto.offset.reset", "earliest"},           // "largest" loses what came before the first commit
      {"max.poll.interval.ms", "60000"},           //
      {"partition.assignment.strategy", "range"},  // eager: the cooperative one has defects in librdkafka 2.0
      {"allow.auto.create.topics", "false"},
      {"enable.partition.eof", "false"},
  };
}

}  // namespace

// Threads: one polls; it alone calls librdkafka, but for offsets_store() and figures, which are local and thread-safe.
class KafkaSource::Core {
 public:
  Core(KafkaSourceOptions options, const Clock& clock, const Logger& log, std::function<void()> wake)
      : options_(std::move(options)), clock_(clock), wake_(std::move(wake)), owner_(log, clock, this) {}

  void start() {
    is_stopping_ = false;
    poller_ = std::thread([this] { run(); });
  }

  void stop() {
    is_stopping_ = true;
    changed_.wake();
    if (poller_.joinable()) poller_.join();
  }

  std::vector<SourceRecord> take(std::size_t max, std::size_t max_bytes) {
    std::vector<SourceRecord> taken;
    const std::lock_guard lock(mutex_);
    std::size_t bytes = 0;
    while (!fetched_.empty() && taken.size() < max) {
      SourceRecord& record = fetched_.front();
      const std::size_t size = bytes_of(record);
      if (!taken.empty() && bytes + size > max_bytes) break;
      bytes += size;
      partitions_.at(record.place.partition).prefix.take(record.place.offset);
      taken.push_back(std::move(record));
      fetched_.pop_front();
    }
    fetched_bytes_ -= bytes;
    if (!taken.empty()) changed_.wake();
    return taken;
  }

  void done(std::span<const RecordDone> records) {
    const std::lock_guard lock(mutex_);
    std::map<std::int32_t, std::int64_t> ends;
    for (const RecordDone& record : records) {
      Partition* partition = assigned(record);
      if (partition == nullptr) continue;
      if (const auto end = partition->prefix.done(record.place.offset)) ends[record.place.partition] = *end;
    }
    if (!ends.empty()) store(ends);
    if (is_handing_over_) changed_.wake();
  }

  bool is_assigned(const RecordDone& record) {
    const std::lock_guard lock(mutex_);
    return assigned(record) != nullptr;
  }

  void set_open(bool open) {
    const std::lock_guard lock(mutex_);
    is_open_ = open;
    changed_.wake();
  }

  SourceStatus status() {
    const std::lock_guard lock(mutex_);
    return {.is_connected = is_connected_, .problem = problem_, .partitions = partitions_.size(), .lag = lag()};
  }

 private:
  struct Partition {
    std::uint64_t assignment = 0;
    OffsetPrefix prefix;
    std::optional<std::int64_t> next;  // behind the last record that came, or the committed offset
  };

  // ---- The polling thread ----

  void run() {
    while (!is_stopping_) {
      if (client_ == nullptr && !open()) {
        (void)changed_.wait(clock_.now() + kRetry);
      } else if (is_to_poll()) {
        if (poll()) {
          look();
        } else {
          close();  // the next turn opens another
        }
      }
    }
    close();
  }

  bool open() {
    const auto failed = [this](std::string problem) {
      note(false, std::move(problem));
      return false;
    };
    auto conf = make_kafka_conf(owner_, {.given = options_.settings, .defaults = defaults(), .fixed = fixed(options_)});
    if (!conf.ok()) return failed(conf.error().message);
    rd_kafka_conf_set_rebalance_cb(conf->get(), on_rebalance);
    rd_kafka_conf_set_error_cb(conf->get(), on_error);
    auto client = make_kafka_client(RD_KAFKA_CONSUMER, std::move(*conf));
    if (!client.ok()) return failed(client.error().message);
    rd_kafka_poll_set_consumer(client->get());
    topic_.reset(rd_kafka_topic_new(client->get(), options_.topic.c_str(), nullptr));
    const KafkaPartitions topics(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(topics.get(), options_.topic.c_str(), RD_KAFKA_PARTITION_UA);
    const auto subscribed = rd_kafka_subscribe(client->get(), topics.get());
    if (subscribed != RD_KAFKA_RESP_ERR_NO_ERROR) {
      topic_.reset();
      return failed(rd_kafka_err2str(subscribed));
    }
    const std::lock_guard lock(mutex_);
    client_ = std::move(*client);
    return true;
  }

  // Hands over what is assigned, commits and leaves the group.
  void close() {
    if (client_ == nullptr) return;
    rd_kafka_consumer_close(client_.get());  // calls on_rebalance
    topic_.reset();
    KafkaHandle closed;
    {
      const std::lock_guard lock(mutex_);
      closed = std::move(client_);
      fetched_.clear();
      fetched_bytes_ = 0;
      partitions_.clear();
      is_paused_ = false;
    }
  }

  // Back-pressure: at first nothing is polled; librdkafka then stops fetching by itself. Pausing throws away what it has
  // fetched, so that comes only after a while, when polling must go on for the sake of the group.
  bool is_to_poll() {
    bool is_full = false;
    {
      const std::lock_guard lock(mutex_);
      is_full = !is_open_ || fetched_.size() >= options_.most_records || fetched_bytes_ >= options_.most_bytes;
    }
    const MonotonicTime now = clock_.now();
    if (!is_full) {
      full_since_.reset();
      if (is_paused_) pause(false);
      return true;
    }
    if (!full_since_) full_since_ = now;
    if (!is_paused_ && now - *full_since_ < kNotPolled) {
      (void)changed_.wait(now + kNotPolledStep);
      return false;
    }
    if (!is_paused_) pause(true);
    return true;
  }

  void pause(bool on) {
    rd_kafka_topic_partition_list_t* raw = nullptr;
    if (rd_kafka_assignment(client_.get(), &raw) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
    const KafkaPartitions all(raw);
    (void)(on ? rd_kafka_pause_partitions(client_.get(), all.get())
              : rd_kafka_resume_partitions(client_.get(), all.get()));
    is_paused_ = on && all->cnt > 0;
  }

  // False if the client is of no use any more.
  bool poll() {
    const KafkaMessage message(rd_kafka_consumer_poll(client_.get(), to_kafka_ms(kPoll)));
    if (message == nullptr) return true;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      put(*message);
      return true;
    }
    const std::string reason = rd_kafka_message_errstr(message.get());
    owner_.log.warn("the consumer reports an error", {{"topic", options_.topic}, {"reason", reason}});
    if (message->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
      note(true, fmt::format("topic {} does not exist", options_.topic));
    } else if (message->err != RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED) {
      note(false, reason);
    }
    return rd_kafka_fatal_error(client_.get(), nullptr, 0) == RD_KAFKA_RESP_ERR_NO_ERROR;
  }

  void put(rd_kafka_message_t& message) {
    const std::lock_guard lock(mutex_);
    const auto found = partitions_.find(message.partition);
    if (found == partitions_.end()) return;
    Partition& partition = found->second;
    if (partition.next && message.offset < *partition.next) {
      // The broker begins again, because it has lost the end of the partition: a new life, like a new assignment.
      partition = {.assignment = ++last_assignment_};
      drop_fetched(message.partition);
    }
    partition.next = message.offset + 1;
    fetched_.push_back(record_from(message, partition.assignment));
    fetched_bytes_ += bytes_of(fetched_.back());
    is_connected_ = true;
    problem_.clear();
    if (fetched_.size() == 1) wake_();
  }

  // While nothing is assigned, or no broker answers, nothing else says why.
  void look() {
    const MonotonicTime now = clock_.now();
    if (client_ == nullptr || now < next_look_) return;
    {
      const std::lock_guard lock(mutex_);
      if (is_connected_ && !partitions_.empty()) return;
    }
    KafkaLook found = look_at_topic(client_.get(), topic_.get(), kRetry);
    note(found.is_connected, std::move(found.problem));
    next_look_ = clock_.now() + kRetry;
  }

  void note(bool is_connected, std::string problem) {
    const std::lock_guard lock(mutex_);
    if (problem != problem_ && !problem.empty()) {
      owner_.log.warn("the input waits", {{"topic", options_.topic}, {"reason", problem}});
    }
    is_connected_ = is_connected;
    problem_ = std::move(problem);
  }

  static void on_error(rd_kafka_t*, int error, const char* reason, void* opaque) {
    auto& core = *static_cast<Core*>(static_cast<KafkaOwner*>(opaque)->object);
    if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
      core.note(false, fmt::format("no Kafka broker answers: {}", reason));
    } else {
      core.owner_.log.debug("the consumer reports an error", {{"reason", reason}});
    }
  }

  static void on_rebalance(rd_kafka_t* client, rd_kafka_resp_err_t event, rd_kafka_topic_partition_list_t* partitions,
                           void* opaque) {
    auto& core = *static_cast<Core*>(static_cast<KafkaOwner*>(opaque)->object);
    if (event == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
      core.begin_assignment(client, *partitions);
      (void)rd_kafka_assign(client, partitions);
      return;
    }
    const bool is_lost = rd_kafka_assignment_lost(client) != 0;
    if (!is_lost) core.finish_taken();
    if (!is_lost) (void)rd_kafka_commit(client, nullptr, 0);  // what is stored; waits for the answer
    core.end_assignment(is_lost);
    if (core.is_paused_) core.pause(false);  // or they would be paused when they are assigned again
    (void)rd_kafka_assign(client, nullptr);
  }

  void begin_assignment(rd_kafka_t* client, const rd_kafka_topic_partition_list_t& partitions) {
    // For the lag only, so a failure is no fault.
    const KafkaPartitions committed(rd_kafka_topic_partition_list_copy(&partitions));
    (void)rd_kafka_committed(client, committed.get(), to_kafka_ms(kRetry));
    const std::lock_guard lock(mutex_);
    ++last_assignment_;
    for (int i = 0; i < committed->cnt; ++i) {
      const auto& each = committed->elems[i];
      Partition partition{.assignment = last_assignment_};
      if (each.offset >= 0) partition.next = each.offset;
      partitions_[each.partition] = std::move(partition);
    }
    if (!partitions_.empty()) problem_.clear();
    is_connected_ = true;
    is_paused_ = false;
    owner_.log.info("partitions assigned", {{"topic", options_.topic}, {"partitions", partitions_.size()}});
  }

  // Waits until the records that were taken are done. What was not taken is read again by the next owner.
  void finish_taken() {
    const MonotonicTime end = clock_.now() + kHandOver;
    while (clock_.now() < end) {
      {
        const std::lock_guard lock(mutex_);
        is_handing_over_ = true;
        fetched_.clear();
        fetched_bytes_ = 0;
        if (std::ranges::all_of(partitions_, [](const auto& each) { return each.second.prefix.pending() == 0; })) break;
      }
      (void)changed_.wait(std::min(end, clock_.now() + kHandOverStep));
    }
  }

  void end_assignment(bool is_lost) {
    const std::lock_guard lock(mutex_);
    owner_.log.info(is_lost ? "partitions lost" : "partitions revoked",
                    {{"topic", options_.topic}, {"partitions", partitions_.size()}});
    fetched_.clear();
    fetched_bytes_ = 0;
    partitions_.clear();
    is_handing_over_ = false;
  }

  // ---- With mutex_ held ----

  Partition* assigned(const RecordDone& record) {
    const auto found = partitions_.find(record.place.partition);
    return found == partitions_.end() || found->second.assignment != record.assignment ? nullptr : &found->second;
  }

  void store(const std::map<std::int32_t, std::int64_t>& ends) {
    if (client_ == nullptr) return;
    const KafkaPartitions offsets(rd_kafka_topic_partition_list_new(static_cast<int>(ends.size())));
    for (const auto& [partition, end] : ends) {
      rd_kafka_topic_partition_list_add(offsets.get(), options_.topic.c_str(), partition)->offset = end;
    }
    const auto stored = rd_kafka_offsets_store(client_.get(), offsets.get());
    if (stored != RD_KAFKA_RESP_ERR_NO_ERROR) {
      owner_.log.debug("offsets not stored", {{"topic", options_.topic}, {"reason", rd_kafka_err2str(stored)}});
    }
  }

  void drop_fetched(std::int32_t partition) {
    std::erase_if(fetched_, [partition](const SourceRecord& each) { return each.place.partition == partition; });
    fetched_bytes_ = 0;
    for (const SourceRecord& each : fetched_) fetched_bytes_ += bytes_of(each);
  }

  // From what librdkafka has seen last; asks nobody.
  std::optional<std::int64_t> lag() {
    if (client_ == nullptr || partitions_.empty()) return std::nullopt;
    std::int64_t sum = 0;
    for (const auto& [number, partition] : partitions_) {
      std::int64_t low = 0;
      std::int64_t high = 0;
      const auto known = rd_kafka_get_watermark_offsets(client_.get(), options_.topic.c_str(), number, &low, &high);
      if (known != RD_KAFKA_RESP_ERR_NO_ERROR || high < 0) return std::nullopt;
      sum += std::max<std::int64_t>(0, high - partition.next.value_or(std::max<std::int64_t>(0, low)));
    }
    return sum + static_cast<std::int64_t>(fetched_.size());
  }

  const KafkaSourceOptions options_;
  const Clock& clock_;
  const std::function<void()> wake_;
  KafkaOwner owner_;
  Waker changed_;
  std::atomic<bool> is_stopping_ = false;
  std::thread poller_;

  // Used by the polling thread only.
  KafkaTopic topic_;
  std::optional<MonotonicTime> full_since_;
  MonotonicTime next_look_{};
  bool is_paused_ = false;

  std::mutex mutex_;
  KafkaHandle client_;                                  // changed by the polling thread only, with mutex_ held
  std::deque<SourceRecord> fetched_;                    // guarded by mutex_; not taken yet
  std::size_t fetched_bytes_ = 0;                       // guarded by mutex_
  std::map<std::int32_t, Partition> partitions_;        // guarded by mutex_; that are assigned
  std::uint64_t last_assignment_ = 0;                   // guarded by mutex_
  bool is_open_ = true;                                 // guarded by mutex_
  bool is_handing_over_ = false;                        // guarded by mutex_
  bool is_connected_ = false;                           // guarded by mutex_
  std::string problem_ = "not connected to Kafka yet";  // guarded by mutex_
};

KafkaSource::KafkaSource(KafkaSourceOptions options, const Clock& clock, const Logger& log, std::function<void()> wake)
    : core_(std::make_unique<Core>(std::move(options), clock, log, std::move(wake))) {}
KafkaSource::~KafkaSource() { core_->stop(); }

void KafkaSource::start() { core_->start(); }
void KafkaSource::stop() { core_->stop(); }
std::vector<SourceRecord> KafkaSource::take(std::size_t max, std::size_t max_bytes) {
  return core_->take(max, max_bytes);
}
void KafkaSource::done(std::span<const RecordDone> records) { core_->done(records); }
bool KafkaSource::is_assigned(const RecordDone& record) const { return core_->is_assigned(record); }
void KafkaSource::set_open(bool open) { core_->set_open(open); }
SourceStatus KafkaSource::status() const { return core_->status(); }

}  // namespace horae
