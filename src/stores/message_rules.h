// What the stores share about delayed messages: checks, and the decisions that need no database.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/message_store.h"

namespace horae {

// kRefused, as every call of MessageStore does: a name that no delay queue can have, a batch that is too large, an id
// that no message can have (of a new one), or one that is there twice (where each is to be changed).
Result<void> check_wish(const EnqueueWish& wish);
Result<void> check_wish(const TurnWish& wish);
Result<void> check_batch_of(std::string_view delay_queue, std::size_t size);
Result<void> check_changes(std::string_view delay_queue, std::span<const std::string> ids);
std::vector<std::string> ids_of(std::span<const MoveWish> wishes);

// What counts against ReadyLimits::max_bytes.
std::size_t stored_bytes(const Message& message);

// Advance and horizon together, in whole microseconds: due <= now + reach is what may be readied.
Duration reach_of(Duration advance, Duration horizon);
Duration whole_microseconds(Duration duration);
Instant fires_at(Instant due, Duration advance);

// 1 to kMaxBatch.
std::size_t page_size(std::size_t wished);

// For each message of a batch: true if it is among the first ones, by deadline and id, that fit into the limits. Of
// ids that are there twice only the first one is counted.
std::vector<bool> fit_into(const ReadyLimits& limits, std::span<const NewMessage> messages);

// The places of the messages in the batch that are the first with their id, in the order of the ids.
std::vector<std::size_t> first_of_each_id(std::span<const NewMessage> messages);

// A message that was in the store before a batch came.
struct PresentMessage {
  std::optional<RecordPlace> place;
  bool is_firing = false;
};

// kRepeated or kFiring.
EnqueueKind judge(const PresentMessage& present, const NewMessage& message);

}  // namespace horae
