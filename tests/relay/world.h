// A relay on a manual clock, with a real store and ends in memory.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "engine/relay/relay.h"
#include "engine/relay/relay_set.h"
#include "store/store.h"
#include "tests/relay/ends.h"

namespace horae::testing {

// The store's messages, with calls that fail or lose their answers, as a test says.
class FaultyMessages final : public MessageStore {
 public:
  enum class Fault { kNone, kFails, kLosesAnswer };
  explicit FaultyMessages(MessageStore& store) : store_(store) {}

  Fault enqueues = Fault::kNone;
  Fault turns = Fault::kNone;
  Fault looks = Fault::kNone;  // stuck()
  int calls = 0;

  Result<EnqueueOutcome> enqueue(const EnqueueWish& wish) override {
    return call(enqueues, [&] { return store_.enqueue(wish); });
  }
  Result<TurnOutcome> turn(const TurnWish& wish) override {
    return call(turns, [&] { return store_.turn(wish); });
  }
  Result<HeldPage> held_by(const HeldWish& wish) override {
    return call(Fault::kNone, [&] { return store_.held_by(wish); });
  }
  Result<StuckPage> stuck(const StuckWish& wish) override {
    return call(looks, [&] { return store_.stuck(wish); });
  }
  Result<std::vector<bool>> reset(std::string_view queue, std::span<const Readying> stuck) override {
    return call(looks, [&] { return store_.reset(queue, stuck); });
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
  Result<std::vector<DelayLook>> look(std::span<const std::string> queues) override {
    return call(Fault::kNone, [&] { return store_.look(queues); });
  }

 private:
  template <typename Call>
  auto call(Fault fault, Call operation) -> decltype(operation()) {
    ++calls;
    const Error away{ErrorCode::kUnavailable, "the store is away"};
    if (fault == Fault::kFails) return away;
    auto answer = operation();
    if (fault == Fault::kLosesAnswer) return away;
    return answer;
  }

  MessageStore& store_;
};

// One node and its relay. Several share a store and a clock.
class RelayNode {
 public:
  RelayNode(MessageStore& store, ManualClock& clock, RelayOptions options, bool has_dead_letters, std::uint64_t seed);

  // Runs the loops that are due or woken, until none is.
  void run_due();

  // When the next loop is due.
  MonotonicTime next() const;

  std::string log() const { return log_.str(); }

  FaultyMessages store;
  MemorySource* source = nullptr;
  MemorySink* output = nullptr;
  MemorySink* dead_letters = nullptr;
  bool is_stopped = false;  // its loops do not run

  Relay& relay() { return *relay_; }

 private:
  struct Driven {
    Loop* loop = nullptr;
    MonotonicTime next{};
    bool is_woken = false;
  };
  enum Part : std::size_t { kIntake, kTurn, kFiring, kRecovery, kLook, kParts };

  ManualClock& clock_;
  SeededRandom random_;
  std::ostringstream log_;
  IdleLook look_;
  std::array<Driven, kParts> loops_;
  std::unique_ptr<Relay> relay_;
};

class RelayWorldKit {
 public:
  explicit RelayWorldKit(RelayOptions options = {}, bool has_dead_letters = true);

  RelayNode& node(std::size_t index = 0) { return *nodes_[index]; }
  RelayNode& add_node();

  // Lets time pass; each loop runs when it wants to.
  void pass(Duration time);

  Instant now() const { return clock.wall_now(); }
  std::vector<StoredMessage> stored();

  // Sends a record to the first node, due `delay` from now.
  std::int64_t send(const std::string& id, Duration delay);

  ManualClock clock;
  std::unique_ptr<Store> store;

 private:
  const RelayOptions options_;
  const bool has_dead_letters_;
  std::vector<std::unique_ptr<RelayNode>> nodes_;
};

// The two headers of a message.
std::vector<MessageHeader> headers_of(const std::string& id, Instant deadline);

}  // namespace horae::testing
