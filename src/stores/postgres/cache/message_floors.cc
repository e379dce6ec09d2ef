#include "stores/postgres/cache/message_floors.h"

#include "stores/postgres/connection/time.h"

namespace horae::postgres {

int MessageFloors::number_of(const std::string& delay_queue) {
  const std::lock_guard lock(mutex_);
  return numbers_.emplace(delay_queue, static_cast<int>(2 * numbers_.size())).first->second;
}

MessageFloors::Look MessageFloors::begin(const std::string& delay_queue) {
  const int number = number_of(delay_queue);
  return {.queue = number, .waiting = floors_.begin(number), .present = floors_.begin(number + 1)};
}

void MessageFloors::end(const Look& look, std::optional<Instant> first_waiting, std::optional<Instant> first_present) {
  constexpr auto kNothing = to_postgres(Instant::max());
  floors_.end(look.queue, look.waiting, first_waiting ? to_postgres(*first_waiting) : kNothing);
  floors_.end(look.queue + 1, look.present, first_present ? to_postgres(*first_present) : kNothing);
}

void MessageFloors::lower(const std::string& delay_queue, Instant due, bool waits) {
  const int number = number_of(delay_queue);
  if (waits) floors_.lower(number, to_postgres(due));
  floors_.lower(number + 1, to_postgres(due));
}

std::optional<Instant> floor_of(const Floors::Look& look) {
  if (look.floor == Floors::kNone) return std::nullopt;
  return from_postgres(look.floor);
}

}  // namespace horae::postgres
