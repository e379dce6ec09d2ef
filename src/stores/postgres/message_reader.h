// Reads messages, page by page where they may be many.
#pragma once

#include "store/message_store.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

// What its members do is said in MessageStore.
class MessageReader {
 public:
  explicit MessageReader(Pool& pool) : pool_(pool) {}

  Result<HeldPage> held_by(const HeldWish& wish);
  Result<StuckPage> stuck(const StuckWish& wish);
  Result<std::vector<std::optional<StoredMessage>>> get(std::string_view delay_queue, std::span<const std::string> ids);
  Result<MessagePage> list(const MessageQuery& query);
  Result<MessageCounts> counts(std::string_view delay_queue, Duration advance, std::size_t most);

 private:
  Pool& pool_;
};

}  // namespace horae::postgres
