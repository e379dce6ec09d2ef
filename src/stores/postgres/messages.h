// Delayed messages.
#pragma once

#include "store/message_store.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

class Messages final : public MessageStore {
 public:
  explicit Messages(Pool& pool) : pool_(pool) {}

  Result<std::vector<Verdict>> enqueue(std::string_view delay_queue, std::span<const Message> messages) override;
  Result<ReadyDueOutcome> ready_due(std::string_view delay_queue, const Uuid& node, Duration horizon,
                                    std::size_t max) override;
  Result<std::vector<bool>> remove(std::string_view delay_queue, std::span<const Readying> fired) override;
  Result<std::vector<Readying>> stuck(std::string_view delay_queue, Duration hold, Duration advance,
                                      std::size_t max) override;
  Result<std::vector<bool>> reset(std::string_view delay_queue, std::span<const Readying> stuck) override;
  Result<std::optional<StoredMessage>> get(std::string_view delay_queue, std::string_view id) override;
  Result<Verdict> cancel(std::string_view delay_queue, std::string_view id) override;
  Result<Verdict> move(std::string_view delay_queue, std::string_view id, Instant deadline) override;

 private:
  // Runs a change of one waiting message that `sql` makes, and says what became of it.
  Result<Verdict> change_waiting(std::string_view delay_queue, std::string_view id, const Sql& sql,
                                 const Params& params);

  // Runs `sql`, which answers the readyings that were still the present ones; true for those.
  Result<std::vector<bool>> for_present(std::string_view delay_queue, std::span<const Readying> readyings,
                                        const Sql& sql);

  Pool& pool_;
};

}  // namespace horae::postgres
