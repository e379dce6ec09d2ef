#include "stores/message_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "base/quote.h"
#include "model/task.h"
#include "store/batches.h"
#include "store/submission.h"
#include "stores/headers.h"

namespace horae {

Result<void> check_batch_of(std::string_view delay_queue, std::size_t size) {
  if (auto checked = check_queue_name(delay_queue); !checked.ok()) return checked;
  return check_batch_size(size);
}

Result<void> check_wish(const EnqueueWish& wish) {
  if (auto checked = check_batch_of(wish.delay_queue, wish.messages.size()); !checked.ok()) return checked;
  for (const NewMessage& each : wish.messages) {
    if (auto checked = check_message_id(each.message.id); !checked.ok()) {
      return Error{ErrorCode::kRefused, checked.error().message};
    }
  }
  return {};
}

Result<void> check_wish(const TurnWish& wish) {
  if (auto checked = check_batch_of(wish.delay_queue, wish.fired.size()); !checked.ok()) return checked;
  return check_batch_size(wish.failed.size());
}

Result<void> check_changes(std::string_view delay_queue, std::span<const std::string> ids) {
  if (auto checked = check_batch_of(delay_queue, ids.size()); !checked.ok()) return checked;
  std::set<std::string_view> seen;
  for (const std::string& id : ids) {
    if (!seen.insert(id).second) {
      return Error{ErrorCode::kRefused, fmt::format("message id {}: it is there twice in one call", quote(id))};
    }
  }
  return {};
}

std::vector<std::string> ids_of(std::span<const MoveWish> wishes) {
  std::vector<std::string> ids;
  ids.reserve(wishes.size());
  for (const MoveWish& wish : wishes) ids.push_back(wish.id);
  return ids;
}

std::size_t stored_bytes(const Message& message) {
  return (message.key ? message.key->size() : 0) + (message.value ? message.value->size() : 0) +
         encode_headers(message.headers).size();
}

Duration whole_microseconds(Duration duration) { return std::chrono::floor<std::chrono::microseconds>(duration); }

Duration reach_of(Duration advance, Duration horizon) {
  return whole_microseconds(advance) + whole_microseconds(horizon);
}

Instant fires_at(Instant due, Duration advance) { return due - std::chrono::floor<std::chrono::microseconds>(advance); }

std::size_t page_size(std::size_t wished) { return std::clamp(wished, std::size_t{1}, kMaxBatch); }

std::vector<std::size_t> first_of_each_id(std::span<const NewMessage> messages) {
  const auto id_of = [&](std::size_t place) -> std::string_view { return messages[place].message.id; };
  std::vector<std::size_t> places(messages.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, {}, id_of);
  const auto repeated = std::ranges::unique(places, {}, id_of);
  places.erase(repeated.begin(), repeated.end());
  return places;
}

std::vector<bool> fit_into(const ReadyLimits& limits, std::span<const NewMessage> messages) {
  std::vector<std::size_t> places = first_of_each_id(messages);
  std::ranges::stable_sort(places, {}, [&](std::size_t place) { return messages[place].message.deadline; });
  std::vector<bool> fit(messages.size(), false);
  std::size_t count = 0;
  std::size_t bytes = 0;
  for (const std::size_t place : places) {
    bytes += stored_bytes(messages[place].message);
    if (count == limits.max || (count > 0 && bytes > limits.max_bytes)) break;
    fit[place] = true;
    ++count;
  }
  return fit;
}

EnqueueKind judge(const PresentMessage& present, const NewMessage& message) {
  const bool is_same_record = message.place && present.place == message.place;
  return present.is_firing && !is_same_record ? EnqueueKind::kFiring : EnqueueKind::kRepeated;
}

}  // namespace horae
