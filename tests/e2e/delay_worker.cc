// A node reduced to one delay queue, which kills itself at a chosen moment: for tests of what a crash leaves.
//
//   delay_worker STORE KAFKA INPUT OUTPUT [MOMENT COUNT]
//
// It prints "ready" and runs until it is killed. With a moment, it dies by SIGKILL when it gets there for the COUNT-th time:
//
//   enqueue   a batch is durable, its offsets are not stored       done      offsets were passed on to be committed
//   late      late messages are acknowledged, not yet done         readied   a turn has readied messages
//   publish   messages were acknowledged, their rows are there     turn      in the midst of a turn, some time after its start

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "base/random.h"
#include "engine/relay/relay_set.h"
#include "kafka/kafka_sink.h"
#include "kafka/kafka_source.h"
#include "stores/postgres/postgres_store.h"

namespace horae {
namespace {

class Fate {
 public:
  Fate(std::string moment, int count) : moment_(std::move(moment)), left_(count) {}

  void reach(std::string_view moment) {
    if (moment == moment_ && --left_ == 0) (void)::kill(::getpid(), SIGKILL);
  }
  // The moment is somewhere in the call that follows.
  void reach_soon(std::string_view moment) {
    if (moment != moment_ || --left_ != 0) return;
    std::thread([] {
      std::this_thread::yield();
      (void)::kill(::getpid(), SIGKILL);
    }).detach();
  }

 private:
  const std::string moment_;
  std::atomic<int> left_;
};

class MortalStore final : public MessageStore {
 public:
  MortalStore(MessageStore& store, Fate& fate) : store_(store), fate_(fate) {}

  Result<EnqueueOutcome> enqueue(const EnqueueWish& wish) override {
    auto outcome = store_.enqueue(wish);
    if (outcome.ok()) fate_.reach("enqueue");
    return outcome;
  }
  Result<TurnOutcome> turn(const TurnWish& wish) override {
    if (!wish.fired.empty()) fate_.reach("publish");
    if (wish.ready.max > 0) fate_.reach_soon("turn");
    auto outcome = store_.turn(wish);
    if (outcome.ok() && !outcome->readied.empty()) fate_.reach("readied");
    return outcome;
  }

  Result<HeldPage> held_by(const HeldWish& wish) override { return store_.held_by(wish); }
  Result<StuckPage> stuck(const StuckWish& wish) override { return store_.stuck(wish); }
  Result<std::vector<bool>> reset(std::string_view queue, std::span<const Readying> stuck) override {
    return store_.reset(queue, stuck);
  }
  Result<std::vector<std::optional<StoredMessage>>> get(std::string_view queue,
                                                        std::span<const std::string> ids) override {
    return store_.get(queue, ids);
  }
  Result<std::vector<Verdict>> cancel(std::string_view queue, std::span<const std::string> ids) override {
    return store_.cancel(queue, ids);
  }
  Result<std::vector<Verdict>> move(std::string_view queue, std::span<const MoveWish> wishes) override {
    return store_.move(queue, wishes);
  }
  Result<MessagePage> list(const MessageQuery& query) override { return store_.list(query); }
  Result<MessageCounts> counts(std::string_view queue, Duration advance, std::size_t most) override {
    return store_.counts(queue, advance, most);
  }
  Result<std::vector<DelayLook>> look(std::span<const std::string> queues) override { return store_.look(queues); }

 private:
  MessageStore& store_;
  Fate& fate_;
};

class MortalSource final : public Source {
 public:
  MortalSource(std::unique_ptr<KafkaSource> source, Fate& fate) : source_(std::move(source)), fate_(fate) {}

  std::vector<SourceRecord> take(std::size_t max, std::size_t max_bytes) override {
    return source_->take(max, max_bytes);
  }
  void done(std::span<const RecordDone> records) override {
    if (!records.empty()) fate_.reach("late");
    source_->done(records);
    if (!records.empty()) fate_.reach("done");
  }
  bool is_assigned(const RecordDone& record) const override { return source_->is_assigned(record); }
  void set_open(bool open) override { source_->set_open(open); }
  SourceStatus status() const override { return source_->status(); }

 private:
  const std::unique_ptr<KafkaSource> source_;
  Fate& fate_;
};

void run(char** argv, Fate& fate) {
  const SystemClock clock;
  SystemRandom random;
  const Logger log(std::cerr, clock, {.level = LogLevel::kOff});
  PostgresStoreOptions options_of_store;
  options_of_store.allow_unsafe = {"fsync", "full_page_writes", "synchronous_commit"};  // only the worker dies
  const auto store = open_postgres_store(argv[1], options_of_store);
  if (!store.ok()) {
    std::cerr << store.error().message << std::endl;
    return;
  }
  MortalStore messages((*store)->messages(), fate);
  const KafkaSettings settings = {
      {"bootstrap.servers", argv[2]}, {"session.timeout.ms", "2000"}, {"heartbeat.interval.ms", "500"}};
  RelaySet relays(messages, clock, random, log);
  RelayOptions options{.queue = "orders", .input = argv[3], .hold_time = std::chrono::seconds(2)};
  options.failure_detection_interval = std::chrono::milliseconds(200);
  relays.add(options, [&](const RelayWakes& wakes) {
    auto source = std::make_unique<KafkaSource>(
        KafkaSourceOptions{.topic = argv[3], .group = "worker", .client_id = "worker", .settings = settings}, clock,
        log, wakes.intake);
    source->start();
    auto sink = std::make_unique<KafkaSink>(
        KafkaSinkOptions{
            .topic = argv[4], .client_id = "worker", .timeout = std::chrono::seconds(1), .settings = settings},
        clock, log, wakes.firing);
    sink->start();
    return RelayEnds{.source = std::make_unique<MortalSource>(std::move(source), fate),
                     .output = std::move(sink),
                     .dead_letters = {}};
  });
  relays.start();
  std::cout << "ready" << std::endl;
  (void)::pause();
}

}  // namespace
}  // namespace horae

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  horae::Fate fate(argc > 6 ? argv[5] : "", argc > 6 ? std::atoi(argv[6]) : 0);
  horae::run(argv, fate);
  return 0;
}
