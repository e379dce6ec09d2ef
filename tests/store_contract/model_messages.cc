// The model store: delayed messages.

#include <algorithm>
#include <set>

#include "stores/message_rules.h"
#include "tests/store_contract/model_store.h"

namespace horae::testing {
namespace {

using Messages = std::map<std::string, ModelMessage, std::less<>>;

ModelMessage* find_message(Messages& messages, std::string_view id) {
  const auto found = messages.find(id);
  return found == messages.end() ? nullptr : &found->second;
}

bool is_readied_like_this(Messages& messages, const Readying& readying) {
  const ModelMessage* held = find_message(messages, readying.id);
  return held && held->stored.readying == readying;
}

MessagePosition position_of(const ModelMessage& held) { return {held.stored.due, held.stored.message.id}; }

// All of them, in the order of the queue, from `after` on.
std::vector<ModelMessage*> in_order(Messages& messages, const std::optional<MessagePosition>& after = std::nullopt) {
  std::vector<ModelMessage*> found;
  for (auto& [id, held] : messages) {
    if (!after || position_of(held) > *after) found.push_back(&held);
  }
  std::ranges::sort(found, {}, [](const ModelMessage* held) { return position_of(*held); });
  return found;
}

ReadiedMessage readied(const ModelMessage& held) {
  return {held.stored.message, *held.stored.readying, held.stored.due};
}

// Counts a message against the limits; false if it does not fit.
class Room {
 public:
  Room(std::size_t max, std::size_t max_bytes) : max_(max), max_bytes_(max_bytes) {}
  bool take(const ModelMessage& held) {
    bytes_ += stored_bytes(held.stored.message);
    if (count_ == max_ || (count_ > 0 && bytes_ > max_bytes_)) return false;
    ++count_;
    return true;
  }

 private:
  const std::size_t max_;
  const std::size_t max_bytes_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

// Reading: delay queues are apart from the queues of tasks: queues() does not list them.
Result<EnqueueOutcome> ModelMessageStore::enqueue(const EnqueueWish& wish) {
  if (auto checked = check_wish(wish); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  Messages& messages = model_.messages[wish.delay_queue];
  EnqueueOutcome outcome{.now = model_.now(), .kinds = {}, .readied = {}};
  const std::vector<bool> fit = fit_into(wish.ready, wish.messages);
  const Messages before = messages;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < wish.messages.size(); ++i) {
    const NewMessage& each = wish.messages[i];
    const Instant deadline = each.message.deadline;
    if (const auto found = before.find(each.message.id); found != before.end()) {
      const ModelMessage& held = found->second;
      const bool is_firing = held.may_be_published || is_due(held.stored.due, outcome.now, wish.firing_advance());
      outcome.kinds.push_back(judge({held.stored.place, is_firing}, each));
    } else if (!seen.insert(each.message.id).second) {
      outcome.kinds.push_back(EnqueueKind::kRepeated);
    } else if (!wish.stores_late && is_due(deadline, outcome.now, wish.advance)) {
      outcome.kinds.push_back(EnqueueKind::kLate);
    } else {
      ModelMessage held{.stored = {each.message, deadline, each.place, std::nullopt}};
      if (fit[i] && is_due(deadline, outcome.now, reach_of(wish.advance, wish.horizon))) {
        held.stored.readying = Readying{each.message.id, outcome.now, wish.node};
        outcome.readied.push_back(readied(held));
      }
      outcome.kinds.push_back(held.stored.readying ? EnqueueKind::kReadied : EnqueueKind::kWaiting);
      messages.emplace(each.message.id, std::move(held));
    }
  }
  std::ranges::sort(outcome.readied, {}, [](const ReadiedMessage& each) {
    return MessagePosition{each.due, each.message.id};
  });
  return outcome;
}

Result<TurnOutcome> ModelMessageStore::turn(const TurnWish& wish) {
  if (auto checked = check_wish(wish); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  Messages& messages = model_.messages[wish.delay_queue];
  TurnOutcome outcome{.now = model_.now(), .removed = {}, .given_back = {}, .readied = {}, .next_in = std::nullopt};
  for (const Readying& fired : wish.fired) {
    outcome.removed.push_back(is_readied_like_this(messages, fired));
    if (outcome.removed.back()) messages.erase(fired.id);
  }
  for (const GiveBack& failed : wish.failed) {
    outcome.given_back.push_back(is_readied_like_this(messages, failed.readying));
    if (!outcome.given_back.back()) continue;
    ModelMessage& held = messages.at(failed.readying.id);
    const Instant deadline = held.stored.message.deadline;
    const Duration delay = whole_microseconds(failed.delay);
    const Instant later = after(outcome.now, delay + whole_microseconds(wish.advance));
    held.stored.due = delay == Duration::zero() ? deadline : std::max(deadline, later);
    held.may_be_published = held.may_be_published || failed.may_be_published;
    held.stored.readying.reset();
  }
  Room room(wish.ready.max, wish.ready.max_bytes);
  bool is_full = false;
  for (ModelMessage* held : in_order(messages)) {
    if (held->stored.readying) continue;
    is_full =
        is_full || !is_due(held->stored.due, outcome.now, reach_of(wish.advance, wish.horizon)) || !room.take(*held);
    if (is_full) {
      outcome.next_in = between(outcome.now, fires_at(held->stored.due, wish.advance));
      break;
    }
    held->stored.readying = Readying{held->stored.message.id, outcome.now, wish.node};
    outcome.readied.push_back(readied(*held));
  }
  outcome.has_rows = !messages.empty();
  return outcome;
}

Result<HeldPage> ModelMessageStore::held_by(const HeldWish& wish) {
  if (auto checked = check_batch_of(wish.delay_queue, 0); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  HeldPage page{.now = model_.now(), .messages = {}, .next = std::nullopt};
  Room room(page_size(wish.limits.max), wish.limits.max_bytes);
  for (const ModelMessage* held : in_order(model_.messages[wish.delay_queue], wish.after)) {
    if (!is_due(held->stored.due, page.now, reach_of(wish.advance, wish.horizon))) break;
    if (!held->stored.readying || held->stored.readying->readied_by != wish.node) continue;
    if (!room.take(*held)) {
      page.next = MessagePosition{page.messages.back().due, page.messages.back().message.id};
      break;
    }
    page.messages.push_back(readied(*held));
  }
  return page;
}

Result<StuckPage> ModelMessageStore::stuck(const StuckWish& wish) {
  if (auto checked = check_batch_of(wish.delay_queue, 0); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  StuckPage page{.now = model_.now(), .messages = {}, .next = std::nullopt};
  std::optional<MessagePosition> last = wish.after;
  for (const ModelMessage* held : in_order(model_.messages[wish.delay_queue], wish.after)) {
    if (!held->stored.readying) continue;
    const Instant since = std::max(held->stored.readying->readied_at, fires_at(held->stored.due, wish.advance));
    if (after(since, wish.hold) >= page.now) continue;
    if (page.messages.size() == page_size(wish.max)) {
      page.next = last;
      break;
    }
    page.messages.push_back(*held->stored.readying);
    last = position_of(*held);
  }
  return page;
}

Result<std::vector<bool>> ModelMessageStore::reset(std::string_view delay_queue, std::span<const Readying> stuck) {
  if (auto checked = check_batch_of(delay_queue, stuck.size()); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  Messages& messages = model_.messages[std::string(delay_queue)];
  std::vector<bool> done;
  for (const Readying& readying : stuck) {
    done.push_back(is_readied_like_this(messages, readying));
    if (!done.back()) continue;
    ModelMessage& held = messages.at(readying.id);
    held.stored.readying.reset();
    held.may_be_published = true;
  }
  return done;
}

Result<std::vector<std::optional<StoredMessage>>> ModelMessageStore::get(std::string_view delay_queue,
                                                                         std::span<const std::string> ids) {
  if (auto checked = check_batch_of(delay_queue, ids.size()); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  std::vector<std::optional<StoredMessage>> found;
  for (const std::string& id : ids) {
    const ModelMessage* held = find_message(model_.messages[std::string(delay_queue)], id);
    found.push_back(held ? std::optional(held->stored) : std::nullopt);
  }
  return found;
}

Result<std::vector<Verdict>> ModelMessageStore::cancel(std::string_view delay_queue, std::span<const std::string> ids) {
  if (auto checked = check_changes(delay_queue, ids); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  Messages& messages = model_.messages[std::string(delay_queue)];
  std::vector<Verdict> verdicts;
  for (const std::string& id : ids) {
    const ModelMessage* held = find_message(messages, id);
    const bool is_ready = held && held->stored.readying;
    verdicts.push_back(!held ? Verdict::kNotFound : is_ready ? Verdict::kWrongState : Verdict::kAccepted);
    if (verdicts.back() == Verdict::kAccepted) messages.erase(messages.find(id));
  }
  return verdicts;
}

Result<std::vector<Verdict>> ModelMessageStore::move(std::string_view delay_queue, std::span<const MoveWish> wishes) {
  if (auto checked = check_changes(delay_queue, ids_of(wishes)); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  std::vector<Verdict> verdicts;
  for (const MoveWish& wish : wishes) {
    ModelMessage* held = find_message(model_.messages[std::string(delay_queue)], wish.id);
    const bool is_ready = held && held->stored.readying;
    verdicts.push_back(!held ? Verdict::kNotFound : is_ready ? Verdict::kWrongState : Verdict::kAccepted);
    if (verdicts.back() != Verdict::kAccepted) continue;
    held->stored.message.deadline = held->stored.due = wish.deadline;
    held->may_be_published = false;
  }
  return verdicts;
}

Result<MessagePage> ModelMessageStore::list(const MessageQuery& query) {
  if (auto checked = check_batch_of(query.delay_queue, 0); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  MessagePage page;
  Room room(page_size(query.limit), query.max_bytes);
  for (const ModelMessage* held : in_order(model_.messages[query.delay_queue], query.after)) {
    if (query.state && held->stored.state() != *query.state) continue;
    if (!room.take(*held)) {
      page.next = MessagePosition{page.messages.back().due, page.messages.back().message.id};
      break;
    }
    page.messages.push_back(held->stored);
  }
  return page;
}

Result<MessageCounts> ModelMessageStore::counts(std::string_view delay_queue, Duration advance, std::size_t most) {
  if (auto checked = check_batch_of(delay_queue, 0); !checked.ok()) return checked.error();
  const std::lock_guard lock(model_.mutex);
  MessageCounts counts{.now = model_.now(), .oldest_overdue = std::nullopt};
  for (const ModelMessage* held : in_order(model_.messages[std::string(delay_queue)])) {
    if (counts.waiting + counts.ready == most) break;
    if (held->stored.readying) {
      ++counts.ready;
      continue;
    }
    ++counts.waiting;
    if (!is_due(held->stored.due, counts.now, advance)) continue;
    if (++counts.overdue == 1) counts.oldest_overdue = between(fires_at(held->stored.due, advance), counts.now);
  }
  counts.more = counts.waiting + counts.ready == most;
  return counts;
}

Result<std::vector<DelayLook>> ModelMessageStore::look(std::span<const std::string> delay_queues) {
  const std::lock_guard lock(model_.mutex);
  std::vector<DelayLook> looks;
  for (const std::string& queue : delay_queues) {
    if (auto checked = check_batch_of(queue, delay_queues.size()); !checked.ok()) return checked.error();
    Messages& messages = model_.messages[queue];
    DelayLook look{.has_rows = !messages.empty(), .next_in = std::nullopt};
    for (const ModelMessage* held : in_order(messages)) {
      if (!held->stored.readying && !look.next_in) look.next_in = between(model_.now(), held->stored.due);
    }
    looks.push_back(look);
  }
  return looks;
}

}  // namespace horae::testing
