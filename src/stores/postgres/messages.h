// Delayed messages.
#pragma once

#include "base/clock.h"
#include "store/message_store.h"
#include "stores/postgres/cache/message_floors.h"
#include "stores/postgres/connection/pool.h"
#include "stores/postgres/message_reader.h"

namespace horae::postgres {

class Messages final : public MessageStore {
 public:
  Messages(Pool& pool, const Clock& clock) : pool_(pool), floors_(clock), reader_(pool) {}

  // The database is another one.
  void forget() { floors_.forget(); }

  Result<EnqueueOutcome> enqueue(const EnqueueWish& wish) override;
  Result<TurnOutcome> turn(const TurnWish& wish) override;
  Result<HeldPage> held_by(const HeldWish& wish) override { return reader_.held_by(wish); }
  Result<StuckPage> stuck(const StuckWish& wish) override { return reader_.stuck(wish); }
  Result<std::vector<bool>> reset(std::string_view delay_queue, std::span<const Readying> stuck) override;
  Result<std::vector<std::optional<StoredMessage>>> get(std::string_view delay_queue,
                                                        std::span<const std::string> ids) override {
    return reader_.get(delay_queue, ids);
  }
  Result<std::vector<Verdict>> cancel(std::string_view delay_queue, std::span<const std::string> ids) override;
  Result<std::vector<Verdict>> move(std::string_view delay_queue, std::span<const MoveWish> wishes) override;
  Result<MessagePage> list(const MessageQuery& query) override { return reader_.list(query); }
  Result<MessageCounts> counts(std::string_view delay_queue, Duration advance, std::size_t most) override {
    return reader_.counts(delay_queue, advance, most);
  }
  Result<std::vector<DelayLook>> look(std::span<const std::string> delay_queues) override;

 private:
  struct Batch;

  // Stores the messages that are not decided yet, as far as another transaction does not get in between.
  Result<void> enqueue_some(const EnqueueWish& wish, Batch& batch);
  Result<std::vector<Verdict>> change_waiting(const std::string& delay_queue, std::span<const std::string> ids,
                                              const Sql& sql, const Params& params);

  Pool& pool_;
  MessageFloors floors_;
  MessageReader reader_;
};

}  // namespace horae::postgres
