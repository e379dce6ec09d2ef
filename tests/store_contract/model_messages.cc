// The model store: delayed messages.

#include <algorithm>

#include "tests/store_contract/model_store.h"

namespace horae::testing {
namespace {

using Messages = std::map<std::string, StoredMessage, std::less<>>;

StoredMessage* find_message(Messages& messages, std::string_view id) {
  const auto found = messages.find(id);
  return found == messages.end() ? nullptr : &found->second;
}

bool is_readied_like_this(Messages& messages, const Readying& readying) {
  const StoredMessage* held = find_message(messages, readying.id);
  return held && held->readying == readying;
}

// The waiting ones, by deadline, then id.
std::vector<StoredMessage*> waiting(Messages& messages) {
  std::vector<StoredMessage*> found;
  for (auto& [id, held] : messages) {
    if (!held.readying) found.push_back(&held);
  }
  std::ranges::stable_sort(found, {}, [](const StoredMessage* held) { return held->message.deadline; });
  return found;
}

}  // namespace

// Reading: delay queues are apart from the queues of tasks: queues() does not list them.
Result<std::vector<Verdict>> ModelMessageStore::enqueue(std::string_view delay_queue,
                                                        std::span<const Message> messages) {
  if (auto checked = check_queue_name(delay_queue); !checked.ok()) return checked.error();
  const auto checked = check_all(messages, [](const Message& message) { return check_message_id(message.id); });
  if (!checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  Messages& held = model_.messages[std::string(delay_queue)];
  std::vector<Verdict> verdicts;
  for (const Message& message : messages) {
    const bool is_new = held.emplace(message.id, StoredMessage{.message = message}).second;
    verdicts.push_back(is_new ? Verdict::kAccepted : Verdict::kRepeated);
  }
  return verdicts;
}

Result<ReadyDueOutcome> ModelMessageStore::ready_due(std::string_view delay_queue, const Uuid& node, Duration horizon,
                                                     std::size_t max) {
  const std::lock_guard lock(model_.mutex);
  const Instant now = model_.now();
  ReadyDueOutcome outcome;
  for (StoredMessage* held : waiting(model_.messages[std::string(delay_queue)])) {
    const Message& message = held->message;
    if (!is_due(message.deadline, now, horizon) || outcome.messages.size() == max) {
      outcome.next_in = std::max(between(after(now, horizon), message.deadline), Duration::zero());
      break;
    }
    held->readying = Readying{.id = message.id, .readied_at = now, .readied_by = node};
    outcome.messages.push_back({message, *held->readying, between(now, message.deadline)});
  }
  return outcome;
}

Result<std::vector<bool>> ModelMessageStore::remove(std::string_view delay_queue, std::span<const Readying> fired) {
  if (auto checked = check_batch(fired.size()); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  Messages& held = model_.messages[std::string(delay_queue)];
  std::vector<bool> removed;
  for (const Readying& readying : fired) {
    removed.push_back(is_readied_like_this(held, readying));
    if (removed.back()) held.erase(readying.id);
  }
  return removed;
}

Result<std::vector<Readying>> ModelMessageStore::stuck(std::string_view delay_queue, Duration hold, Duration advance,
                                                       std::size_t max) {
  const std::lock_guard lock(model_.mutex);
  std::vector<Readying> found;
  for (const auto& [id, held] : model_.messages[std::string(delay_queue)]) {
    if (!held.readying || found.size() == max) continue;
    const Instant fires_at = held.message.deadline - std::chrono::floor<std::chrono::microseconds>(advance);
    const Instant since = std::max(held.readying->readied_at, fires_at);
    if (after(since, hold) < model_.now()) found.push_back(*held.readying);
  }
  return found;
}

Result<std::vector<bool>> ModelMessageStore::reset(std::string_view delay_queue, std::span<const Readying> stuck) {
  if (auto checked = check_batch(stuck.size()); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  Messages& held = model_.messages[std::string(delay_queue)];
  std::vector<bool> done;
  for (const Readying& readying : stuck) {
    done.push_back(is_readied_like_this(held, readying));
    if (done.back()) held.at(readying.id).readying.reset();
  }
  return done;
}

Result<std::optional<StoredMessage>> ModelMessageStore::get(std::string_view delay_queue, std::string_view id) {
  const std::lock_guard lock(model_.mutex);
  const StoredMessage* held = find_message(model_.messages[std::string(delay_queue)], id);
  return held ? std::optional(*held) : std::nullopt;
}

Result<Verdict> ModelMessageStore::cancel(std::string_view delay_queue, std::string_view id) {
  const std::lock_guard lock(model_.mutex);
  Messages& messages = model_.messages[std::string(delay_queue)];
  const StoredMessage* held = find_message(messages, id);
  if (!held) return Verdict::kNotFound;
  if (held->readying) return Verdict::kWrongState;
  messages.erase(messages.find(id));
  return Verdict::kAccepted;
}

Result<Verdict> ModelMessageStore::move(std::string_view delay_queue, std::string_view id, Instant deadline) {
  const std::lock_guard lock(model_.mutex);
  StoredMessage* held = find_message(model_.messages[std::string(delay_queue)], id);
  if (!held) return Verdict::kNotFound;
  if (held->readying) return Verdict::kWrongState;
  held->message.deadline = deadline;
  return Verdict::kAccepted;
}

}  // namespace horae::testing
