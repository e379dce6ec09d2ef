// Delayed messages: waiting for their deadline, or readied by a node that answers for firing them.
#pragma once

#include <cstddef>
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

// Which node took on a message, and when. Both are compared before a message is removed or reset, so that a message
// that has been submitted again under the same id is left alone.
struct Readying {
  std::string id;
  Instant readied_at;
  Uuid readied_by;

  friend bool operator==(const Readying&, const Readying&) = default;
};

struct ReadiedMessage {
  Message message;
  Readying readying;
  Duration due_in;  // from the moment of readying to the deadline; negative if it has passed
};

struct ReadyDueOutcome {
  std::vector<ReadiedMessage> messages;  // by deadline, then id
  std::optional<Duration>
      next_in;  // until the next waiting one comes within the horizon; zero if more are due; nothing if none
};

struct StoredMessage {
  Message message;
  std::optional<Readying> readying;  // nothing while it waits

  MessageState state() const { return readying ? MessageState::kReady : MessageState::kWaiting; }
};

// A message lives in a delay queue, named like a task's queue; its id is unique within it as long as it waits or is
// ready. Once fired and removed it is forgotten, and the same id may come again.
//
// Threads, durability, batches, time: as TaskStore says.
class MessageStore {
 public:
  virtual ~MessageStore() = default;

  // kAccepted, or kRepeated if a message with this id is there: then the new one is ignored, whatever it holds.
  virtual Result<std::vector<Verdict>> enqueue(std::string_view delay_queue, std::span<const Message> messages) = 0;

  // Takes on up to `max` waiting messages with deadline <= now + horizon for `node`. No message is given to two.
  virtual Result<ReadyDueOutcome> ready_due(std::string_view delay_queue, const Uuid& node, Duration horizon,
                                            std::size_t max) = 0;

  // Forgets messages that were fired. For each: true, or false if this readying is no longer the present one (a peer
  // took over, or it is gone): then nothing is done.
  virtual Result<std::vector<bool>> remove(std::string_view delay_queue, std::span<const Readying> fired) = 0;

  // Up to `max` ready messages for which more than `hold` has passed since the later of readied_at and deadline -
  // advance.
  virtual Result<std::vector<Readying>> stuck(std::string_view delay_queue, Duration hold, Duration advance,
                                              std::size_t max) = 0;

  // Lets messages wait again, if the readying is still the same: true for each that was reset.
  virtual Result<std::vector<bool>> reset(std::string_view delay_queue, std::span<const Readying> stuck) = 0;

  // Nothing if there is no such message.
  virtual Result<std::optional<StoredMessage>> get(std::string_view delay_queue, std::string_view id) = 0;

  // kAccepted, kNotFound, or kWrongState if it is ready: too late.
  virtual Result<Verdict> cancel(std::string_view delay_queue, std::string_view id) = 0;

  // Gives a waiting message another deadline. The same answers as cancel().
  virtual Result<Verdict> move(std::string_view delay_queue, std::string_view id, Instant deadline) = 0;
};

}  // namespace horae
