#include "stores/postgres/tasks/settle_batch.h"

#include <algorithm>
#include <unordered_set>

#include "stores/postgres/connection/statements.h"
#include "stores/postgres/connection/time.h"
#include "stores/postgres/layout/effects.h"

namespace horae::postgres {
namespace {

const Sql kLockRunning = statement("lock_running");
const Sql kLockAllRunning = statement("lock_all_running");
const Sql kIds = statement("ids");
const Sql kPolicies = statement("policies");  // of tasks that may be scheduled again
const Sql kProgress = statement("progress");

constexpr int kMostLooks = 5;

bool brings_result(Event event) { return event == Event::kComplete || event == Event::kAbort; }

EventFacts facts_of(const Settlement& said) {
  return {.lease = said.lease,
          .progress = said.progress,
          .has_checkpoint = said.checkpoint.has_value(),
          .chance = said.chance};
}

bool is_held_by(const Card& card, const Settlement& said) {
  return card.lease != nullptr && card.lease->life.attempt == said.attempt && card.lease->owner == said.owner;
}

TaskFacts facts_of_task(const Card& card) {
  TaskFacts facts = facts_of(*card.lease);
  facts.progress = card.progress.value_or(card.stored_progress.value_or(0.0));
  facts.lease = card.length.value_or(facts.lease);
  facts.retry = card.retry;
  return facts;
}

}  // namespace

// Reads and locks what the batch names. False after a failure.
bool SettleBatch::prepare() {
  find_numbers_of_all();
  lock();
  confirm_numbers();
  make_cards();
  hide_out_of_scope(transaction_, settlements_, numbers_,
                    [this](std::int64_t number) { return std::optional(cards_.at(number).standing.queue); });
  read_rare_things();
  return !transaction_.failed();
}

SettleOutcome SettleBatch::settle(std::size_t place) {
  const Settlement& said = settlements_[place];
  if (!numbers_[place]) return {.verdict = judge(std::nullopt, said.event, said.attempt, said.owner)};
  Card& card = cards_.at(*numbers_[place]);
  const Verdict verdict = judge(card.standing.holding(), said.event, said.attempt, said.owner);
  SettleOutcome outcome{verdict, card.standing.state, card.standing.attempt, card.standing.newest_owner(),
                        card.standing.expires};
  if (verdict == Verdict::kAccepted) {
    apply(card, said);
    outcome.state = card.standing.state;
    outcome.lease_expires = card.standing.expires;
  }
  if (card.is_extended() && outcome.lease_expires) extended_.push_back(place);
  if (verdict == Verdict::kAccepted) return outcome;
  if (keeps_late_result(verdict, card.standing.holding(), said.event, said.attempt)) {
    keep_late_result(card, said);
  }
  return outcome;
}

// Sends all changes.
void SettleBatch::write() {
  std::vector<const Card*> cards;
  for (const auto& [number, card] : cards_) {
    if (card.lease != nullptr) cards.push_back(&card);
  }
  trail_.write();
  written_ = write_cards(transaction_, cards);
}

// ---- Reading ----

void SettleBatch::find_numbers_of_all() {
  numbers_.resize(settlements_.size());
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < settlements_.size(); ++i) {
    if (settlements_[i].number > 0) {
      numbers_[i] = settlements_[i].number;
    } else {
      places.push_back(i);
    }
  }
  find_by_id(places);
}

void SettleBatch::find_by_id(const std::vector<std::size_t>& places) {
  std::vector<TaskId> ids;
  for (const std::size_t place : places) ids.push_back(settlements_[place].id);
  const auto found = find_numbers(transaction_, ids);
  for (std::size_t i = 0; i < places.size(); ++i) numbers_[places[i]] = found[i];
}

std::vector<Range> SettleBatch::ranges() const {
  std::vector<std::int64_t> numbers;
  for (const auto& number : numbers_) {
    if (number) numbers.push_back(*number);
  }
  return ranges_of(std::move(numbers));
}

// Locks the running ranges of all tasks in one statement, and reads the ids of the numbers that callers gave. Called
// again for tasks that moved meanwhile.
void SettleBatch::lock() {
  const auto wanted = ranges();
  if (wanted.empty()) return;
  const Params params = Params::of(los_of(wanted), his_of(wanted));
  const std::size_t locked = transaction_.send(kLockRunning, params);
  const bool ask_for_ids = !is_confirmed_ && ids_.empty();
  const std::size_t ids =
      ask_for_ids ? transaction_.send(kIds, Params(params).add(wanted.front().lo).add(wanted.back().hi)) : 0;
  if (!transaction_.wait()) return;
  leases_.clear();
  for (const Row row : transaction_.rows(locked)) {
    now_ = row.instant(17);
    RunningRange lease = read_running(row);
    const std::int64_t lo = lease.life.range.lo;
    leases_.insert_or_assign(lo, std::move(lease));
  }
  if (!ask_for_ids) return;
  for (const Row row : transaction_.rows(ids)) ids_[row.integer(0)] = row.uuid(1);
}

// A number only saves a look-up: one that belongs to another task is replaced.
void SettleBatch::confirm_numbers() {
  if (is_confirmed_) return;
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < settlements_.size(); ++i) {
    if (settlements_[i].number == 0 || transaction_.failed()) continue;
    const auto id = ids_.find(settlements_[i].number);
    if (id == ids_.end() || id->second != settlements_[i].id) wrong.push_back(i);
  }
  if (wrong.empty()) return;
  find_by_id(wrong);
  lock();
}

const RunningRange* SettleBatch::lease_of(std::int64_t number) const {
  auto next = leases_.upper_bound(number);
  if (next == leases_.begin()) return nullptr;
  const RunningRange& lease = (--next)->second;
  return lease.life.range.contains(number) ? &lease : nullptr;
}

// Makes a card for each task. A task that is not in a locked range is not running, or was moved between two ranges
// during the wait for a lock: then all is locked again, and at last the whole table.
void SettleBatch::make_cards() {
  for (int look = 1; !transaction_.failed(); ++look) {
    std::vector<std::int64_t> rest;
    for (const auto& number : numbers_) {
      if (number && lease_of(*number) == nullptr) rest.push_back(*number);
    }
    standings_ = find_standings(transaction_, rest);
    // The task of a number was purged: its id may have been submitted again.
    std::vector<std::size_t> purged;
    for (std::size_t i = 0; i < settlements_.size(); ++i) {
      const bool is_given = numbers_[i] && numbers_[i] == settlements_[i].number;
      if (is_given && !lease_of(*numbers_[i]) && !standings_.contains(*numbers_[i])) purged.push_back(i);
    }
    find_by_id(purged);
    const bool moved = std::ranges::any_of(settlements_, [&](const Settlement& said) { return has_moved(said); });
    if ((!moved && purged.empty()) || look > kMostLooks) break;
    if (look == kMostLooks) (void)transaction_.run(kLockAllRunning);
    lock();
  }
  for (auto& number : numbers_) {
    if (!number || cards_.contains(*number)) continue;
    if (const RunningRange* lease = lease_of(*number)) {
      cards_[*number] = {.number = *number,
                         .lease = lease,
                         .standing = {.state = State::kRunning,
                                      .queue = lease->life.queue,
                                      .attempt = lease->life.attempt,
                                      .owner = lease->owner,
                                      .started_at = lease->started_at,
                                      .expires = lease->expires,
                                      .ended = lease->life.ended,
                                      .read_at = now_}};
    } else if (const auto found = standings_.find(*number); found != standings_.end()) {
      cards_[*number] = {.number = *number, .standing = found->second};
    } else {
      number.reset();  // purged
    }
  }
}

// The task is running for this owner, but not in a range that is locked here.
bool SettleBatch::has_moved(const Settlement& said) const {
  const auto number = numbers_[static_cast<std::size_t>(&said - settlements_.data())];
  if (!number) return false;
  const auto found = standings_.find(*number);
  return found != standings_.end() && found->second.state == State::kRunning && found->second.attempt == said.attempt &&
         found->second.owner == said.owner;
}

// Reads what only some events need.
void SettleBatch::read_rare_things() {
  std::vector<std::int64_t> aborted, yielded, leaving, late;
  std::unordered_set<std::int64_t> named;
  for (std::size_t i = 0; i < settlements_.size(); ++i) {
    if (!numbers_[i]) continue;
    const Card& card = cards_.at(*numbers_[i]);
    const Event event = settlements_[i].event;
    const bool ends_turn = event == Event::kComplete && card.lease != nullptr && card.lease->life.recurring;
    if (event == Event::kAbort || ends_turn) aborted.push_back(card.number);
    if (event == Event::kYield) yielded.push_back(card.number);
    if (event != Event::kHeartbeat && (event != Event::kComplete || ends_turn)) leaving.push_back(card.number);
    // It may be late, also because an earlier item of the batch ends the attempt.
    const bool is_first = named.insert(card.number).second;
    const bool may_be_late = brings_result(event) && (!is_first || !is_held_by(card, settlements_[i]));
    // What is leased is locked, so nobody else can note anything of it.
    if (may_be_late) (card.lease != nullptr ? leaving : late).push_back(card.number);
  }
  if (!aborted.empty()) {
    for (const Row row : transaction_.run(kPolicies, Params::of(aborted))) {
      Card& card = cards_.at(row.integer(0));
      card.priority = row.small(6);
      if (row.is_null(1)) continue;
      card.retry = {static_cast<RetryPolicy::Kind>(row.small(1)), row.duration(2), row.real(3), row.duration(4),
                    row.real(5)};
    }
  }
  if (!yielded.empty()) {
    for (const Row row : transaction_.run(kProgress, Params::of(yielded))) {
      cards_.at(row.integer(0)).stored_progress = row.real(1);
    }
  }
  trail_.read(leaving, late);
}

// ---- Deciding ----

void SettleBatch::apply(Card& card, const Settlement& said) {
  const Effect effect = effect_of(facts_of_task(card), said.event, facts_of(said));
  note_effect(trail_, card.number, *card.lease, effect, said.errors);
  Standing& standing = card.standing;
  standing.state = *effect.state;
  standing.expires = effect.lease ? std::optional(after(now_, *effect.lease)) : std::nullopt;
  if (effect.ended) standing.ended = AttemptEnd{*effect.ended, card.lease->owner};
  if (effect.owner == Effect::Owner::kCleared) {
    standing.owner.reset();
    standing.started_at.reset();
  }
  if (effect.lease) card.length = effect.lease;
  if (effect.state == State::kRunning && effect.progress) card.progress = effect.progress;
  if (effect.checkpoint == Effect::Checkpoint::kReplaced) card.checkpoint = said.checkpoint;
  if (effect.replaces_result) card.result = said.result;
  card.errors = said.errors;
  card.effect = effect;
}

// The present assignment needs a row before the late result only if their times do not show the order.
void SettleBatch::keep_late_result(const Card& card, const Settlement& said) {
  if (card.standing.owner && card.standing.started_at && card.standing.read_at <= *card.standing.started_at) {
    trail_.note_assignment(card.number, card.standing.attempt, *card.standing.owner, *card.standing.started_at);
  }
  trail_.note_late(card.number, said.attempt, said.owner, late_result_detail(said.event, said.errors, said.result));
}

bool SettleBatch::send() {
  if (!prepare()) return false;
  outcomes_.reserve(settlements_.size());
  for (std::size_t i = 0; i < settlements_.size(); ++i) outcomes_.push_back(settle(i));
  write();
  return true;
}

void SettleBatch::lower(Floors& floors) const {
  for (const ReadyRange& ready : written_.ready) floors.lower(ready.life.queue, ready.rank);
}

// What was extended is so since the write, not since the lock.
std::vector<SettleOutcome> SettleBatch::read(Floors& floors) {
  lower(floors);
  LeaseEnds ends;
  ends.read(transaction_, written_.leases);
  for (const std::size_t place : extended_) {
    const Card& card = cards_.at(*numbers_[place]);
    const auto end = card.is_extended() ? ends.of(card.number) : std::nullopt;
    if (end) *outcomes_[place].lease_expires += *end - *card.standing.expires;
  }
  return std::move(outcomes_);
}

}  // namespace horae::postgres
