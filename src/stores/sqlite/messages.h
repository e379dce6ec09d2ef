// Delayed messages.
#pragma once

#include "store/message_store.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {

class Messages final : public MessageStore {
 public:
  explicit Messages(Writer& writer);

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
  bool exists(std::string_view delay_queue, std::string_view id);

  // Runs a change of one waiting message that `statement` makes, and says what became of it.
  template <typename... Values>
  Result<Verdict> change_waiting(std::string_view delay_queue, std::string_view id, Statement& statement,
                                 const Values&... values);

  // Runs `statement` for each readying; true where it is still the present one.
  Result<std::vector<bool>> for_present(std::string_view delay_queue, std::span<const Readying> readyings,
                                        Statement& statement);

  Writer& writer_;
  Statement insert_;
  Statement due_;
  Statement ready_;
  Statement next_;
  Statement remove_;
  Statement stuck_;
  Statement reset_;
  Statement get_;
  Statement cancel_;
  Statement move_;
  Statement exists_;
};

}  // namespace horae::sqlite
