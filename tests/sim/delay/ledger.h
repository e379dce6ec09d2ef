// Checks what happens in a world with a delay queue against what is promised, as it happens.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/relay/sink.h"
#include "store/message_store.h"
#include "tests/sim/checker.h"
#include "tests/sim/delay/plan.h"
#include "tests/sim/world.h"

namespace horae::sim {

// Of what the client sends. Each has its own, also under a repeated id.
using MessageNumber = std::int64_t;

struct Content {
  Bytes key;
  Bytes value;
  std::vector<MessageHeader> headers;  // without the two of Chronos
};
Content content_of(MessageNumber number);
MessageNumber number_in(const std::vector<MessageHeader>& headers);

enum class MessageKind { kGood, kBad, kRefused };

// The rules, by the names that violations carry:
//   lost       each message that was sent is published, unless it was cancelled, is no message, or its id was waiting
//   bytes      key, value and other headers are published byte for byte
//   early      nothing is published before deadline - advance in store time, nor before the deadline of an accepted move
//   offset     a committed offset has nothing undone below it
//   duplicate  a message is published again only with a cause: a takeover, an unknown outcome, a record read again
//   cancelled  a message whose cancel was accepted is not published
//   swallowed  an id that was published before a record was sent does not make the record a repetition
//   ignored    a repetition is not published
//   removed    a row is removed only after its publish, or as a dead letter
//   compare    a row is removed, given back and reset only for its present readying
//   ready      a ready message is neither cancelled nor moved, nor readied for another node
//   hold       no message is taken over before its hold time is over
//   stale      a message that another node may take over is not published
//   takeover   while all nodes live, nothing is taken over, also after outages of the store
//   backlog    nothing is taken in while overdue messages wait
//   revoked    records of a partition that the node has lost are not stored
//   late       in a calm world, messages are published in time
//   left       at the end the store is empty and all records are done
class DelayLedger {
 public:
  DelayLedger(World& world, const DelayPlan& plan) : world_(world), plan_(plan) {}

  void enter(Phase::Kind phase);

  // ---- The client ----
  void sent(MessageNumber number, const std::string& id, Instant deadline, MessageKind kind,
            std::optional<RecordPlace> place);

  // ---- The broker ----
  void taken(const RecordPlace& place);
  void handed_over(MessageNumber number, const Uuid& node);
  void published(MessageNumber number, const Publication& message);
  void may_be_published(MessageNumber number);  // reported so
  void may_be_stored(MessageNumber number);     // the answer of the store was lost, so it is stored again
  void dead_lettered(MessageNumber number);
  void committed(std::int32_t partition, std::int64_t offset);

  // ---- The store, in the order of commits ----
  struct Row {
    MessageNumber number = 0;
    Instant due;
    std::optional<Readying> readying;
  };
  const std::map<std::string, Row>& rows() const { return rows_; }
  void enqueued(const EnqueueWish& wish, const EnqueueOutcome& outcome);
  void turned(const TurnWish& wish, const TurnOutcome& outcome);
  void reset(std::span<const Readying> stuck, const std::vector<bool>& done);
  void cancelled(const std::string& id, Verdict verdict);
  void moved(const MoveWish& wish, Verdict verdict);

  // ---- The end ----
  bool is_anything_left() const;
  void end(const std::vector<std::int64_t>& ends_of_partitions);

  void violate(std::string_view rule, MessageNumber number, std::string text);
  std::vector<Violation> violations() && { return std::move(violations_); }
  std::uint64_t messages() const { return lives_.size(); }

 private:
  struct Life {
    std::string id;
    Instant sent_at;
    Instant due;  // its deadline, or the one that it was moved to
    MessageKind kind = MessageKind::kGood;
    std::optional<RecordPlace> place;
    int published = 0;
    int causes = 0;  // of duplicates
    int taken = 0;
    bool may_come_again = false;  // its record is read or stored again
    bool is_done = false;         // durable in the store, published, dead-lettered, a repetition
    bool is_late = false;         // the store said so last
    bool is_ignored = false;
    bool is_cancelled = false;
    bool is_dead_lettered = false;
    std::optional<Instant> published_at;  // first
  };

  Duration longest_advance() const { return plan_.relay.timing_advance.value_or(kLongestAdvance); }
  void judge_repetition(const NewMessage& message, std::size_t index, const EnqueueWish& wish);
  void remove(const Readying& fired);
  bool compare(const Row* row, const Readying& readying, std::string_view what);
  Row* find(const std::string& id);
  bool is_calm() const { return phase_ == Phase::Kind::kCalm || phase_ == Phase::Kind::kEnd; }

  static constexpr Duration kLongestAdvance = std::chrono::milliseconds(200);

  World& world_;
  const DelayPlan& plan_;
  Phase::Kind phase_ = Phase::Kind::kChaos;
  Instant phase_since_;
  std::vector<Violation> violations_;
  std::map<MessageNumber, Life> lives_;
  std::map<RecordPlace, MessageNumber> places_;
  std::map<std::string, Row> rows_;
  std::map<std::int32_t, std::int64_t> committed_;
};

}  // namespace horae::sim
