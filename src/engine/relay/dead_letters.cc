#include "engine/relay/dead_letters.h"

#include <utility>

namespace horae {
namespace {

void add_origin(std::vector<MessageHeader>& headers, const LetterOrigin& origin) {
  const auto add = [&](std::string_view name, std::string value) {
    headers.push_back({std::string(name), std::move(value)});
  };
  add(kReasonHeader, origin.reason);
  add(kDelayQueueHeader, origin.delay_queue);
  if (origin.topic.empty() || !origin.place) return;
  add(kTopicHeader, origin.topic);
  add(kPartitionHeader, std::to_string(origin.place->partition));
  add(kOffsetHeader, std::to_string(origin.place->offset));
}

}  // namespace

void DeadLetters::publish(Publication letter, const LetterOrigin& origin, MonotonicTime now, Then then) {
  add_origin(letter.headers, origin);
  {
    const std::lock_guard lock(mutex_);
    letter.ticket = ++last_ticket_;
    waiting_.emplace(letter.ticket, std::move(then));
  }
  const std::uint64_t ticket = letter.ticket;
  std::vector<Publication> letters;
  letters.push_back(std::move(letter));
  if (publisher_.publish(letters, *this, now) == 1) return;
  const Delivery full{.ticket = ticket, .end = PublishEnd::kFailed, .reason = "the queue of the sink is full"};
  on_deliveries(std::span(&full, 1), now);
}

void DeadLetters::on_deliveries(std::span<const Delivery> deliveries, MonotonicTime now) {
  for (const Delivery& delivery : deliveries) {
    Then then;
    {
      const std::lock_guard lock(mutex_);
      auto found = waiting_.extract(delivery.ticket);
      then = std::move(found.mapped());
    }
    then(delivery, now);
  }
}

}  // namespace horae
