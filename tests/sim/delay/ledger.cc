#include "tests/sim/delay/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace horae::sim {
namespace {

using std::string_literals::operator""s;

constexpr std::string_view kNumberHeader = "number";
constexpr Duration kClockTolerance = std::chrono::milliseconds(1);  // of clocks that drift, in ten seconds
constexpr Duration kPrompt = std::chrono::seconds(4);               // with a rebalance in between

}  // namespace

Content content_of(MessageNumber number) {
  Content content;
  if (number % 3 != 0) content.key = fmt::format("key {}", number % 10);
  if (number % 7 == 1) content.value = "";
  if (number % 7 > 1) content.value = fmt::format("value {} ", number) + "\0\xFF"s;
  content.headers = {
      {std::string(kNumberHeader), std::to_string(number)}, {"repeated", "1"}, {"repeated", std::nullopt}};
  if (number % 2 == 0) content.headers.push_back({"", "\0"s});
  return content;
}

MessageNumber number_in(const std::vector<MessageHeader>& headers) {
  const auto found = std::ranges::find(headers, kNumberHeader, &MessageHeader::name);
  MessageNumber number = -1;
  if (found == headers.end() || !found->value) return number;
  std::from_chars(found->value->data(), found->value->data() + found->value->size(), number);
  return number;
}

void DelayLedger::violate(std::string_view rule, MessageNumber number, std::string text) {
  violations_.push_back({std::string(rule), world_.now(), fmt::format("message {}: {}", number, text)});
  world_.note(fmt::format("VIOLATION {} message {}: {}", rule, number, text));
}

void DelayLedger::enter(Phase::Kind phase) {
  phase_ = phase;
  phase_since_ = world_.now();
}

// ---- The client ----

void DelayLedger::sent(MessageNumber number, const std::string& id, Instant deadline, MessageKind kind,
                       std::optional<RecordPlace> place) {
  lives_[number] = {.id = id, .sent_at = world_.now(), .due = deadline, .kind = kind, .place = place};
  if (place) places_[*place] = number;
  world_.note(fmt::format("sent message {} as {} for +{:.3f} s", number, id,
                          std::chrono::duration<double>(deadline - world_.now()).count()));
}

// ---- The broker ----

void DelayLedger::taken(const RecordPlace& place) {
  Life& life = lives_.at(places_.at(place));
  life.is_ignored = false;
  if (++life.taken == 1) return;
  ++life.causes;
  life.may_come_again = true;
}

void DelayLedger::handed_over(MessageNumber number, const Uuid& node) {
  const Life& life = lives_.at(number);
  const Instant earliest = life.due - std::chrono::ceil<std::chrono::microseconds>(longest_advance() + kClockTolerance);
  if (world_.now() < earliest) violate("early", number, "is published too early");
  const Row* row = find(life.id);
  const bool is_held = row != nullptr && row->number == number && row->readying && row->readying->readied_by == node;
  if (!is_held && life.is_ignored) violate("ignored", number, "is a repetition, and is published");
  if (!is_held && !life.is_late && !life.is_ignored)
    violate("stale", number, "is published by a node that does not hold it");
}

void DelayLedger::published(MessageNumber number, const Publication& message) {
  Life& life = lives_.at(number);
  const Content content = content_of(number);
  if (message.key != content.key || message.value != content.value || message.headers != content.headers) {
    violate("bytes", number, "is published with other bytes");
  }
  ++life.published;
  world_.note(fmt::format("published message {} as {}", number, life.id));
  if (life.is_cancelled && !life.may_come_again) violate("cancelled", number, "was cancelled, and is published");
  if (life.published > 1 + life.causes) violate("duplicate", number, "is published again without a cause");
  if (life.published > 1 && is_calm() && life.sent_at > phase_since_)
    violate("duplicate", number, "is published twice in calm");
  if (!life.published_at) {
    life.published_at = world_.now();
    const Instant since = std::max(life.due, life.sent_at);
    const bool is_calm_since = phase_ == Phase::Kind::kCalm && life.sent_at > phase_since_;
    if (is_calm_since && world_.now() - since > kPrompt) violate("late", number, "is published too late");
  }
  life.is_done = true;
}

void DelayLedger::may_be_published(MessageNumber number) { ++lives_.at(number).causes; }

void DelayLedger::may_be_stored(MessageNumber number) {
  Life& life = lives_.at(number);
  ++life.causes;
  life.may_come_again = true;
}

void DelayLedger::dead_lettered(MessageNumber number) {
  Life& life = lives_.at(number);
  life.is_dead_lettered = life.is_done = true;
  if (life.kind == MessageKind::kGood) violate("lost", number, "is good, and is dead-lettered");
}

void DelayLedger::committed(std::int32_t partition, std::int64_t offset) {
  std::int64_t& from = committed_[partition];
  for (std::int64_t each = from; each < offset; ++each) {
    const MessageNumber number = places_.at({.partition = partition, .offset = each});
    const Life& life = lives_.at(number);
    const bool is_dropped = life.kind == MessageKind::kBad && !plan_.has_dead_letters;
    if (!life.is_done && !is_dropped) violate("offset", number, "is not done, and its offset is committed");
  }
  from = std::max(from, offset);
}

// ---- The store ----

DelayLedger::Row* DelayLedger::find(const std::string& id) {
  const auto found = rows_.find(id);
  return found == rows_.end() ? nullptr : &found->second;
}

void DelayLedger::enqueued(const EnqueueWish& wish, const EnqueueOutcome& outcome) {
  std::map<std::string, Readying> readied;
  for (const ReadiedMessage& each : outcome.readied) readied.emplace(each.message.id, each.readying);
  for (std::size_t i = 0; i < wish.messages.size(); ++i) {
    const NewMessage& message = wish.messages[i];
    const MessageNumber number = number_in(message.message.headers);
    Life& life = lives_.at(number);
    life.is_late = outcome.kinds[i] == EnqueueKind::kLate;
    switch (outcome.kinds[i]) {
      case EnqueueKind::kWaiting:
      case EnqueueKind::kReadied: {
        Row row{.number = number, .due = message.message.deadline, .readying = std::nullopt};
        if (const auto found = readied.find(message.message.id); found != readied.end()) row.readying = found->second;
        rows_[message.message.id] = row;
        life.is_done = true;
        break;
      }
      case EnqueueKind::kRepeated:
        judge_repetition(message, i, wish);
        life.is_done = true;
        break;
      case EnqueueKind::kLate:
      case EnqueueKind::kFiring:
        break;
    }
  }
}

void DelayLedger::judge_repetition(const NewMessage& message, std::size_t index, const EnqueueWish& wish) {
  const MessageNumber number = number_in(message.message.headers);
  const Row* row = find(message.message.id);
  Life& life = lives_.at(number);
  if (row != nullptr && row->number == number) return;  // the same record, read or stored again
  life.is_ignored = true;
  if (row != nullptr) {
    const Life& other = lives_.at(row->number);
    if (other.published_at && *other.published_at < life.sent_at) {
      violate("swallowed", number, fmt::format("is ignored for message {}, which was published before", row->number));
    }
    return;
  }
  for (std::size_t i = 0; i < index; ++i) {
    if (wish.messages[i].message.id == message.message.id) return;
  }
  violate("swallowed", number, "is ignored, and nothing has its id");
}

bool DelayLedger::compare(const Row* row, const Readying& readying, std::string_view what) {
  if (row != nullptr && row->readying == readying) return true;
  violate("compare", row == nullptr ? -1 : row->number,
          fmt::format("is {} for a readying that is not the present one", what));
  return false;
}

void DelayLedger::remove(const Readying& fired) {
  const Row* row = find(fired.id);
  compare(row, fired, "removed");
  if (row == nullptr) return;
  const Life& life = lives_.at(row->number);
  if (life.published == 0 && !life.is_dead_lettered)
    violate("removed", row->number, "is removed before it was published");
  rows_.erase(fired.id);
}

void DelayLedger::turned(const TurnWish& wish, const TurnOutcome& outcome) {
  for (std::size_t i = 0; i < wish.fired.size(); ++i) {
    if (outcome.removed[i]) remove(wish.fired[i]);
  }
  for (std::size_t i = 0; i < wish.failed.size(); ++i) {
    if (!outcome.given_back[i]) continue;
    Row* row = find(wish.failed[i].readying.id);
    if (compare(row, wish.failed[i].readying, "given back")) row->readying.reset();
  }
  for (const ReadiedMessage& each : outcome.readied) {
    Row* row = find(each.message.id);
    if (row == nullptr || row->readying) {
      violate("ready", row == nullptr ? -1 : row->number, "is readied, and was not waiting");
    } else {
      row->readying = each.readying;
    }
  }
}

void DelayLedger::reset(std::span<const Readying> stuck, const std::vector<bool>& done) {
  for (std::size_t i = 0; i < stuck.size(); ++i) {
    if (!done[i]) continue;
    Row* row = find(stuck[i].id);
    compare(row, stuck[i], "reset");
    if (row == nullptr) continue;
    Life& life = lives_.at(row->number);
    const Instant fires_at =
        row->due - std::chrono::ceil<std::chrono::microseconds>(longest_advance() + kClockTolerance);
    const Instant since = row->readying ? std::max(row->readying->readied_at, fires_at) : fires_at;
    if (world_.now() - since < plan_.relay.hold_time)
      violate("hold", row->number, "is taken over before its hold time is over");
    if (phase_ == Phase::Kind::kFlaky || is_calm()) {
      violate("takeover", row->number, "is taken over while all nodes live");
    }
    world_.note(fmt::format("message {} is taken over", row->number));
    ++life.causes;
    row->readying.reset();
  }
}

void DelayLedger::cancelled(const std::string& id, Verdict verdict) {
  if (verdict != Verdict::kAccepted) return;
  const Row* row = find(id);
  if (row == nullptr) return violate("compare", -1, "is cancelled, and is not there");
  if (row->readying) violate("ready", row->number, "is cancelled, and is ready");
  lives_.at(row->number).is_cancelled = true;
  world_.note(fmt::format("message {} is cancelled", row->number));
  rows_.erase(id);
}

void DelayLedger::moved(const MoveWish& wish, Verdict verdict) {
  if (verdict != Verdict::kAccepted) return;
  Row* row = find(wish.id);
  if (row == nullptr) return violate("compare", -1, "is moved, and is not there");
  if (row->readying) violate("ready", row->number, "is moved, and is ready");
  row->due = wish.deadline;
  lives_.at(row->number).due = wish.deadline;
}

// ---- The end ----

bool DelayLedger::is_anything_left() const {
  if (!rows_.empty()) return true;
  return std::ranges::any_of(lives_, [&](const auto& each) {
    const Life& life = each.second;
    const bool is_dropped = life.kind == MessageKind::kBad && !plan_.has_dead_letters;
    return !life.is_done && !is_dropped;
  });
}

void DelayLedger::end(const std::vector<std::int64_t>& ends_of_partitions) {
  for (const auto& [number, life] : lives_) {
    const bool is_bad = life.kind == MessageKind::kBad;
    const bool is_fine = life.published > 0 || life.is_cancelled || life.is_ignored || life.is_dead_lettered;
    if (!is_fine && !(is_bad && !plan_.has_dead_letters))
      violate("lost", number, fmt::format("as {}, is never published", life.id));
    if (is_bad && life.published > 0) violate("lost", number, "is no message, and is published");
  }
  for (const auto& [id, row] : rows_) violate("left", row.number, fmt::format("{} is still in the store", id));
  for (std::size_t i = 0; i < ends_of_partitions.size(); ++i) {
    const std::int64_t offset = committed_[static_cast<std::int32_t>(i)];
    if (offset < ends_of_partitions[i]) {
      violate("left", -1, fmt::format("partition {} is committed up to {} of {}", i, offset, ends_of_partitions[i]));
    }
  }
}

}  // namespace horae::sim
