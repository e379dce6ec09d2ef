// The messages of the store, for the calls of one node: recorded in the ledger, with faults.
#pragma once

#include <functional>

#include "store/message_store.h"
#include "tests/sim/delay/ledger.h"
#include "tests/sim/faulty_store.h"

namespace horae::sim {

class RecordedMessages final : public MessageStore {
 public:
  RecordedMessages(World& world, DelayLedger& ledger)
      : world_(world), ledger_(ledger), messages_(world.store->messages()) {}

  Result<EnqueueOutcome> enqueue(const EnqueueWish& wish) override;
  Result<TurnOutcome> turn(const TurnWish& wish) override;
  Result<HeldPage> held_by(const HeldWish& wish) override { return messages_.held_by(wish); }
  Result<StuckPage> stuck(const StuckWish& wish) override;
  Result<std::vector<bool>> reset(std::string_view queue, std::span<const Readying> stuck) override;
  Result<std::vector<std::optional<StoredMessage>>> get(std::string_view queue,
                                                        std::span<const std::string> ids) override {
    return messages_.get(queue, ids);
  }
  Result<std::vector<Verdict>> cancel(std::string_view queue, std::span<const std::string> ids) override;
  Result<std::vector<Verdict>> move(std::string_view queue, std::span<const MoveWish> wishes) override;
  Result<MessagePage> list(const MessageQuery& query) override { return messages_.list(query); }
  Result<MessageCounts> counts(std::string_view queue, Duration advance, std::size_t most) override {
    return messages_.counts(queue, advance, most);
  }
  Result<std::vector<DelayLook>> look(std::span<const std::string> queues) override { return messages_.look(queues); }

 private:
  Readying present_of(const Readying& named) const;  // of a planted bug

  World& world_;
  DelayLedger& ledger_;
  MessageStore& messages_;
};

class FaultyMessages final : public MessageStore {
 public:
  FaultyMessages(World& world, DelayLedger& ledger, StoreLink& link)
      : link_(link), ledger_(ledger), messages_(world, ledger) {}

  // Called with each record's place before an enqueue.
  std::function<void(const RecordPlace&)> on_enqueue = [](const RecordPlace&) {};

  Result<EnqueueOutcome> enqueue(const EnqueueWish& wish) override {
    for (const NewMessage& each : wish.messages) {
      if (each.place) on_enqueue(*each.place);
    }
    auto outcome = link_.call([&] { return messages_.enqueue(wish); });
    // It is repeated, perhaps after what it stored was published and removed.
    if (!outcome.ok()) {
      for (const NewMessage& each : wish.messages) ledger_.may_be_stored(number_in(each.message.headers));
    }
    return outcome;
  }
  Result<TurnOutcome> turn(const TurnWish& wish) override {
    return link_.call([&] { return messages_.turn(wish); });
  }
  Result<HeldPage> held_by(const HeldWish& wish) override {
    return link_.call([&] { return messages_.held_by(wish); });
  }
  Result<StuckPage> stuck(const StuckWish& wish) override {
    return link_.call([&] { return messages_.stuck(wish); });
  }
  Result<std::vector<bool>> reset(std::string_view queue, std::span<const Readying> stuck) override {
    return link_.call([&] { return messages_.reset(queue, stuck); });
  }
  Result<std::vector<std::optional<StoredMessage>>> get(std::string_view queue,
                                                        std::span<const std::string> ids) override {
    return link_.call([&] { return messages_.get(queue, ids); });
  }
  Result<std::vector<Verdict>> cancel(std::string_view queue, std::span<const std::string> ids) override {
    return link_.call([&] { return messages_.cancel(queue, ids); });
  }
  Result<std::vector<Verdict>> move(std::string_view queue, std::span<const MoveWish> wishes) override {
    return link_.call([&] { return messages_.move(queue, wishes); });
  }
  Result<MessagePage> list(const MessageQuery& query) override {
    return link_.call([&] { return messages_.list(query); });
  }
  Result<MessageCounts> counts(std::string_view queue, Duration advance, std::size_t most) override {
    return link_.call([&] { return messages_.counts(queue, advance, most); });
  }
  Result<std::vector<DelayLook>> look(std::span<const std::string> queues) override {
    return link_.call([&] { return messages_.look(queues); });
  }

 private:
  StoreLink& link_;
  DelayLedger& ledger_;
  RecordedMessages messages_;
};

}  // namespace horae::sim
