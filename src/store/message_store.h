// Delayed messages: waiting for their deadline, or readied by a node that answers for firing them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "model/message.h"
#include "model/settle.h"

namespace horae {

struct NewMessage {
  Message message;
  std::optional<RecordPlace> place = std::nullopt;  // nothing: it came by REST
};

// Which node took on a message, and when. Both are compared before a message is removed, given back or reset, so that a
// message that was submitted again under the same id is left alone.
struct Readying {
  std::string id;
  Instant readied_at;
  Uuid readied_by;

  friend bool operator==(const Readying&, const Readying&) = default;
};

struct ReadiedMessage {
  Message message;
  Readying readying;
  Instant due;  // its deadline, or later after a publish that failed: it fires at due - advance, in store time

  friend bool operator==(const ReadiedMessage&, const ReadiedMessage&) = default;
};

// What a node takes on at most; the first message always fits into max_bytes.
struct ReadyLimits {
  std::size_t max = 0;        // zero: it only looks
  std::size_t max_bytes = 0;  // of keys, values and headers as the store keeps them
};

struct EnqueueWish {
  std::string delay_queue;
  Uuid node;
  Duration advance{};
  Duration horizon{};  // messages with due - advance <= now + horizon are readied for the node at once, within `ready`
  ReadyLimits ready;
  bool stores_late = false;  // for REST: what is late is stored (and readied) as well
  std::span<const NewMessage> messages;

  // Of any node, where nodes learn their advances: a message that is there may fire that long before it is due.
  Duration longest_advance{};
  Duration firing_advance() const { return std::max(advance, longest_advance); }
};

// Messages of one batch with the same id: the first one counts. The others are judged against what was in the store
// before, and are kRepeated if that was nothing.
enum class EnqueueKind : std::uint8_t {
  kWaiting,   // stored
  kReadied,   // stored, and readied for the caller: it is in EnqueueOutcome::readied
  kLate,      // not stored: deadline - advance has passed and no message has this id; the caller publishes it
  kRepeated,  // a message with this id is there and is not about to fire; or it is the very same record (place)
  kFiring,  // a message with this id has passed due - advance, or may have been published: call again until it is gone
};

struct EnqueueOutcome {
  Instant now{};                        // the store's clock, read in the statement
  std::vector<EnqueueKind> kinds;       // one for each message, in order
  std::vector<ReadiedMessage> readied;  // by due, then id
};

struct GiveBack {
  Readying readying;
  Duration delay{};  // it waits again, due not before now + delay + advance; zero: at its deadline

  // Nobody knows whether it was published. Then its id is kFiring until it is gone, whenever it is due: its receiver may
  // have it, and may submit the same id again.
  bool may_be_published = false;
};

struct TurnWish {
  std::string delay_queue;
  Uuid node;
  Duration advance{};
  Duration horizon{};
  std::span<const Readying> fired = {};   // removed
  std::span<const GiveBack> failed = {};  // wait again
  ReadyLimits ready = {};                 // then the next ones with due - advance <= now + horizon, by due, then id
};

struct TurnOutcome {
  Instant now{};
  std::vector<bool>
      removed;  // for each of `fired`: false if that readying is no longer the present one; nothing was done
  std::vector<bool> given_back;         // likewise
  std::vector<ReadiedMessage> readied;  // by due, then id

  // Until due - advance of the first message that still waits; negative if it is overdue; nothing if none waits.
  std::optional<Duration> next_in;
  bool has_rows = false;  // the queue holds any message, waiting or ready
};

struct StoredMessage {
  Message message;
  Instant due;
  std::optional<RecordPlace> place;
  std::optional<Readying> readying;  // nothing while it waits

  MessageState state() const { return readying ? MessageState::kReady : MessageState::kWaiting; }

  friend bool operator==(const StoredMessage&, const StoredMessage&) = default;
};

// Where a walk through a queue has come to: messages are ordered by due, then id (compared byte by byte).
struct MessagePosition {
  Instant due;
  std::string id;

  friend auto operator<=>(const MessagePosition&, const MessagePosition&) = default;
};

// A page of a walk, with 1 to kMaxBatch messages at most. A store looks at a limited number of messages for one page (kMaxMessagesLooked), so a page may be
// short or empty although others follow.
struct HeldPage {
  Instant now{};
  std::vector<ReadiedMessage> messages;  // by due, then id
  std::optional<MessagePosition> next;   // where the next page begins; nothing: this was the last one
};

struct StuckPage {
  Instant now{};
  std::vector<Readying> messages;
  std::optional<MessagePosition> next;
};

inline constexpr std::size_t kMaxMessagesLooked = 20'000;

struct HeldWish {
  std::string delay_queue;
  Uuid node;
  Duration advance{};  // only messages with due - advance <= now + horizon are looked at
  Duration horizon{};
  std::optional<MessagePosition> after = std::nullopt;  // nothing: from the beginning
  ReadyLimits limits;
};

struct StuckWish {
  std::string delay_queue;
  Duration hold{};
  Duration advance{};
  std::optional<MessagePosition> after = std::nullopt;
  std::size_t max = 0;
};

// Of the first messages of a queue, by due.
struct MessageCounts {
  Instant now{};
  std::size_t waiting = 0;
  std::size_t ready = 0;
  std::size_t overdue = 0;                 // waiting although due - advance has passed
  std::optional<Duration> oldest_overdue;  // for how long the first of them has been overdue
  bool more = false;                       // as many as were to be counted: there may be more
};

inline constexpr std::size_t kMaxMessagePageBytes = 8 << 20;

struct MessageQuery {
  std::string delay_queue;
  std::optional<MessageState> state = std::nullopt;
  std::optional<MessagePosition> after = std::nullopt;
  std::size_t limit = 100;
  std::size_t max_bytes = kMaxMessagePageBytes;  // the first message always fits
};

struct MessagePage {
  std::vector<StoredMessage> messages;  // by due, then id
  std::optional<MessagePosition> next;
};

struct MoveWish {
  std::string id;
  Instant deadline;
};

struct DelayLook {
  bool has_rows = false;
  std::optional<Duration> next_in;  // until the first message that waits is due, the advance not counted
};

// A message lives in a delay queue, named like a task's queue; its id is unique within it as long as it waits or is
// ready. Once fired and removed it is forgotten, and the same id may come again. Nothing acknowledged is dropped.
//
// Threads, durability, batches, time: as TaskStore says. kUnavailable: the outcome is unknown. Then enqueue() is repeated
// with the same places; after a turn() or enqueue() without an answer held_by() says what the node holds, and the same
// `fired` and `failed` are sent again.
class MessageStore {
 public:
  virtual ~MessageStore() = default;

  // Stores messages, and readies those that are due soon for the caller: one commit.
  virtual Result<EnqueueOutcome> enqueue(const EnqueueWish& wish) = 0;

  // Removes what was fired, lets wait again what was not, and readies the next ones: one commit; no write if there is
  // nothing to do. No message is given to two nodes.
  virtual Result<TurnOutcome> turn(const TurnWish& wish) = 0;

  // What this node has readied and not removed; for a turn() or enqueue() whose answer was lost.
  virtual Result<HeldPage> held_by(const HeldWish& wish) = 0;

  // Ready messages for which more than `hold` has passed since the later of readied_at and due - advance: the oldest
  // first.
  virtual Result<StuckPage> stuck(const StuckWish& wish) = 0;

  // Lets messages wait again, if the readying is still the same: true for each that was reset. They may have been
  // published: see GiveBack::may_be_published.
  virtual Result<std::vector<bool>> reset(std::string_view delay_queue, std::span<const Readying> stuck) = 0;

  // One for each id; nothing where there is no such message.
  virtual Result<std::vector<std::optional<StoredMessage>>> get(std::string_view delay_queue,
                                                                std::span<const std::string> ids) = 0;

  // For each: kAccepted, kNotFound, or kWrongState if it is ready: too late.
  virtual Result<std::vector<Verdict>> cancel(std::string_view delay_queue, std::span<const std::string> ids) = 0;

  // Gives waiting messages another deadline, which is then their due time. The same answers as cancel().
  virtual Result<std::vector<Verdict>> move(std::string_view delay_queue, std::span<const MoveWish> wishes) = 0;

  virtual Result<MessagePage> list(const MessageQuery& query) = 0;

  // Counts the first `most` messages.
  virtual Result<MessageCounts> counts(std::string_view delay_queue, Duration advance, std::size_t most) = 0;

  // Whether queues hold messages: one query for all of them, once a second, instead of a turn of each idle queue.
  virtual Result<std::vector<DelayLook>> look(std::span<const std::string> delay_queues) = 0;
};

}  // namespace horae
