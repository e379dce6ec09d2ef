// Delayed messages.
#pragma once

#include "store/message_store.h"
#include "stores/message_rules.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {

class Messages final : public MessageStore {
 public:
  explicit Messages(Writer& writer);

  Result<EnqueueOutcome> enqueue(const EnqueueWish& wish) override;
  Result<TurnOutcome> turn(const TurnWish& wish) override;
  Result<HeldPage> held_by(const HeldWish& wish) override;
  Result<StuckPage> stuck(const StuckWish& wish) override;
  Result<std::vector<bool>> reset(std::string_view delay_queue, std::span<const Readying> stuck) override;
  Result<std::vector<std::optional<StoredMessage>>> get(std::string_view delay_queue,
                                                        std::span<const std::string> ids) override;
  Result<std::vector<Verdict>> cancel(std::string_view delay_queue, std::span<const std::string> ids) override;
  Result<std::vector<Verdict>> move(std::string_view delay_queue, std::span<const MoveWish> wishes) override;
  Result<MessagePage> list(const MessageQuery& query) override;
  Result<MessageCounts> counts(std::string_view delay_queue, Duration advance, std::size_t most) override;
  Result<std::vector<DelayLook>> look(std::span<const std::string> delay_queues) override;

 private:
  // What was there before a batch; nothing if there is no such message.
  std::optional<PresentMessage> find(const EnqueueWish& wish, std::string_view id, Instant now);

  // Stores a message, ready if `readied_at` is given.
  void insert(const EnqueueWish& wish, const NewMessage& message, std::optional<Instant> readied_at);

  std::vector<ReadiedMessage> take(const TurnWish& wish, Instant now);
  std::optional<Instant> first_waiting(std::string_view delay_queue);
  bool has_rows(std::string_view delay_queue);

  // Calls `take` (a row -> Taken) for each message from `after` on, until it has enough or kMaxMessagesLooked were
  // looked at. The answer is where the next page begins; nothing at the end.
  template <typename Take>
  std::optional<MessagePosition> walk(std::string_view delay_queue, const std::optional<MessagePosition>& after,
                                      Instant latest, Take take);

  // Runs `statement` for each id; kAccepted where it changed a row.
  template <typename Run>
  Result<std::vector<Verdict>> change_waiting(std::string_view delay_queue, std::span<const std::string> ids, Run run);

  Writer& writer_;
  Statement find_;
  Statement insert_;
  Statement waiting_;
  Statement ready_;
  Statement first_waiting_;
  Statement any_;
  Statement remove_;
  Statement give_back_;
  Statement reset_;
  Statement walk_;
  Statement get_;
  Statement cancel_;
  Statement move_;
  Statement counts_;
};

}  // namespace horae::sqlite
