// Writes down what effect_of() says: the row of a task, its checkpoint and errors, the trail, the counts of its queue.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/effect.h"
#include "stores/sqlite/life.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {

// What an event brings that is kept with the task, or in its history. Owned by the caller.
struct Brought {
  std::optional<std::string_view> checkpoint;
  std::optional<std::string_view> result;
  const std::vector<TaskError>* errors = nullptr;  // of an abort
  std::optional<std::string_view> cancel_reason;
};

// For events that end or extend an attempt, and for cancels. For code inside a transaction of the writer.
class Effects {
 public:
  Effects(Writer& writer, Lives& lives);

  // The effect of an event that is allowed, on a task as `life` has it.
  Effect of(const Life& life, Event event, const EventFacts& facts);

  // Changes the task from what `life` says to what `effect` says.
  void write(const Life& life, Event event, const Effect& effect, const Brought& brought, Change& change);

 private:
  void extend(const Life& life, const Effect& effect, Change& change);
  void finish(const Life& life, const Effect& effect, const Brought& brought, Change& change);
  void give_back(const Life& life, const Effect& effect, const Brought& brought, Change& change);
  void write_history(const Life& life, const Effect& effect, const Brought& brought, Change& change);

  Lives& lives_;
  Statement extend_;
  Statement finish_;
  Statement give_back_;
  Statement save_checkpoint_;
  Statement drop_checkpoint_;
  Statement save_error_;
};

}  // namespace horae::sqlite
