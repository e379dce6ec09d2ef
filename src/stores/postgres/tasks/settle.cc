#include "stores/postgres/tasks/settle.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "stores/postgres/layout/look_up.h"
#include "stores/postgres/layout/places.h"
#include "stores/postgres/tasks/settle_whole.h"
#include "stores/postgres/connection/time.h"
#include "stores/postgres/layout/trail.h"

namespace horae::postgres {
namespace {

// Locks come in the order of the numbers, here and in all other statements, so that nobody waits in a circle.
const Sql kLockLeases{"lock_running", std::string("select ") + kRunningColumns +
                                         ", horae_now() from unnest($1::bigint[], $2::bigint[]) as w(lo, hi)"
                                         " cross join lateral (select * from running"
                                         "  where running.lo > w.lo - 64 and running.lo <= w.hi and running.hi >= w.lo"
                                         "  order by running.lo for update) as l"};
const Sql kLockAllLeases{"lock_all_running", "lock table running in share row exclusive mode"};

const Sql kIds{"ids",
               "select t.number, t.id from unnest($1::bigint[], $2::bigint[]) as r(lo, hi)"
               " cross join lateral (select number, id from task where task.number >= r.lo and task.number <= r.hi"
               "  and task.number >= $3::bigint and task.number <= $4::bigint offset 0) as t"};

// Of tasks that are about to be aborted.
const Sql kPolicies{"policies",
                    "select t.number, t.retry_kind, t.retry_delay, t.retry_factor, t.retry_cap, t.retry_jitter, t.priority"
                    " from unnest($1::bigint[]) as w(number) join task as t on t.number = w.number"};
const Sql kProgress{"progress",
                    "select p.number, p.progress from unnest($1::bigint[]) as w(number)"
                    " join progress as p on p.number = w.number where p.progress is not null"};

const Sql kSaveProgress{
    "save_progress",
    "insert into progress (number, attempt, progress, checkpoint, updated_at)"
    " select number, attempt, progress, checkpoint, horae_now()"
    " from unnest($1::bigint[], $2::integer[], $3::double precision[], $4::text[]) as d(number, attempt, progress, "
    "checkpoint)"
    " on conflict (number) do update set attempt = excluded.attempt,"
    " progress = coalesce(excluded.progress, progress.progress),"
    " checkpoint = coalesce(excluded.checkpoint, progress.checkpoint), updated_at = excluded.updated_at"};

const Sql kExtend{"extend",
                  "update running set expires = d.expires, length = d.length"
                  " from unnest($1::bigint[], $2::timestamptz[], $3::bigint[]) as d(lo, expires, length)"
                  " where running.lo = d.lo"};

const Sql kSaveTurns{"save_turns",
                     "insert into turn (number, result) select * from unnest($1::bigint[], $2::text[])"
                     " on conflict (number) do update set result = excluded.result"};
const Sql kForgetTurns{"forget_turns", "delete from turn where number = any($1::bigint[])"};

constexpr int kMostLooks = 5;

// One task of the batch: how it stands, and what the batch has done to it so far.
struct Card {
  std::int64_t number = 0;
  const RunningRange* lease = nullptr;  // of the task while it was running at the beginning
  Standing standing;

  // What becomes of the lease.
  enum class Fate { kStays, kExtended, kFinished, kReady, kScheduled };
  Fate fate = Fate::kStays;
  Duration length{};  // of the extended lease
  Instant expires;    // of the extended lease
  Instant due;        // of the next turn or try
  int tries = 0;
  int priority = 0;                 // for the next turn or try
  bool starts_anew = false;         // progress 0 again
  bool forgets_checkpoint = false;  // at the end of a turn
  bool is_turn = false;             // a recurring task ended a turn, with `result`
  std::optional<std::string> result;
  std::vector<TaskError> errors;

  // What is known of its progress.
  std::optional<double> progress;         // as reported in this batch
  std::optional<std::string> checkpoint;  // as reported in this batch
  std::optional<double> stored_progress;  // as it was
};

struct Policy {
  RetryPolicy retry;
  int priority = 0;
};

bool brings_result(Event event) { return event == Event::kComplete || event == Event::kAbort; }

// The batch at work: what it locked, what it knows, and what it will write. One transaction.
class Batch {
 public:
  // `is_confirmed`: the numbers that callers gave are known to be those of the ids.
  Batch(Transaction& transaction, std::span<const Settlement> settlements, bool is_confirmed)
      : transaction_(transaction), settlements_(settlements), is_confirmed_(is_confirmed), trail_(transaction) {}

  // Reads and locks what the batch names. False after a failure.
  bool prepare() {
    find_numbers_of_all();
    lock();
    confirm_numbers();
    look_at_the_rest();
    hide_out_of_scope(transaction_, settlements_, numbers_,
                      [this](std::int64_t number) { return std::optional(cards_.at(number).standing.queue); });
    read_rare_things();
    return !transaction_.failed();
  }

  SettleOutcome settle(std::size_t place) {
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
    } else if (verdict != Verdict::kRepeated && brings_result(said.event)) {
      keep_late_result(card, said);
    }
    return outcome;
  }

  // Sends all changes.
  void write() {
    std::vector<const Card*> cards;
    for (const auto& [number, card] : cards_) {
      if (card.lease != nullptr) cards.push_back(&card);
    }
    write_leases(cards);
    write_finished(cards);
    write_ready(cards);
    write_scheduled(cards);
    write_progress(cards);
    trail_.write();
  }

  // After the commit: what became ready again.
  void lower(Floors& floors) const {
    for (const ReadyRange& run : ready_) floors.lower(run.life.queue, run.rank);
  }

 private:
  // ---- Reading ----

  void find_numbers_of_all() {
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

  void find_by_id(const std::vector<std::size_t>& places) {
    std::vector<TaskId> ids;
    for (const std::size_t place : places) ids.push_back(settlements_[place].id);
    const auto found = find_numbers(transaction_, ids);
    for (std::size_t i = 0; i < places.size(); ++i) numbers_[places[i]] = found[i];
  }

  std::vector<Range> ranges() const {
    std::vector<std::int64_t> numbers;
    for (const auto& number : numbers_) {
      if (number) numbers.push_back(*number);
    }
    return ranges_of(std::move(numbers));
  }

  // Locks the leases of all tasks that are running, in one statement, and asks for the ids of the numbers that callers
  // gave. Also called again, for what moved meanwhile.
  void lock() {
    const auto wanted = ranges();
    if (wanted.empty()) return;
    const Params params = Params::of(los_of(wanted), his_of(wanted));
    const std::size_t locked = transaction_.send(kLockLeases, params);
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

  // A number only saves a look-up: one that belongs to another task is of no use.
  void confirm_numbers() {
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

  const RunningRange* lease_of(std::int64_t number) const {
    auto next = leases_.upper_bound(number);
    if (next == leases_.begin()) return nullptr;
    const RunningRange& lease = (--next)->second;
    return lease.life.range.contains(number) ? &lease : nullptr;
  }

  // Makes a card for each task. What is not leased stands elsewhere, or was moved between two leases while we waited
  // for a lock: then we look again, and at last keep everybody out.
  void look_at_the_rest() {
    for (int look = 1; !transaction_.failed(); ++look) {
      std::vector<std::int64_t> rest;
      for (const auto& number : numbers_) {
        if (number && lease_of(*number) == nullptr) rest.push_back(*number);
      }
      standings_ = find_standings(transaction_, rest);
      // A number that was purged: its id may have come again.
      std::vector<std::size_t> purged;
      for (std::size_t i = 0; i < settlements_.size(); ++i) {
        const bool is_given = numbers_[i] && numbers_[i] == settlements_[i].number;
        if (is_given && !lease_of(*numbers_[i]) && !standings_.contains(*numbers_[i])) purged.push_back(i);
      }
      find_by_id(purged);
      const bool moved = std::ranges::any_of(settlements_, [&](const Settlement& said) { return has_moved(said); });
      if ((!moved && purged.empty()) || look > kMostLooks) break;
      if (look == kMostLooks) (void)transaction_.run(kLockAllLeases);
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
                                        .ended = lease->life.ended}};
      } else if (const auto found = standings_.find(*number); found != standings_.end()) {
        cards_[*number] = {.number = *number, .standing = found->second};
      } else {
        number.reset();  // purged
      }
    }
  }

  // It is running for this owner, but not in a lease that we hold.
  bool has_moved(const Settlement& said) const {
    const auto number = numbers_[static_cast<std::size_t>(&said - settlements_.data())];
    if (!number) return false;
    const auto found = standings_.find(*number);
    return found != standings_.end() && found->second.state == State::kRunning &&
           found->second.attempt == said.attempt && found->second.owner == said.owner;
  }

  // What only some events need.
  void read_rare_things() {
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
      // It may come late, also because an earlier item ends the attempt.
      const bool is_first = named.insert(card.number).second;
      if (brings_result(event) && (!is_first || !is_held_by(card, settlements_[i]))) late.push_back(card.number);
    }
    if (!aborted.empty()) {
      for (const Row row : transaction_.run(kPolicies, Params::of(aborted))) {
        Policy& policy = policies_[row.integer(0)];
        policy.priority = row.small(6);
        if (row.is_null(1)) continue;
        policy.retry = {static_cast<RetryPolicy::Kind>(row.small(1)), row.duration(2), row.real(3), row.duration(4),
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

  static bool is_held_by(const Card& card, const Settlement& said) {
    return card.lease != nullptr && card.lease->life.attempt == said.attempt && card.lease->owner == said.owner;
  }

  // ---- Deciding ----

  void apply(Card& card, const Settlement& said) {
    switch (said.event) {
      case Event::kHeartbeat:
        return heartbeat(card, said);
      case Event::kComplete:
        return complete(card, said);
      case Event::kAbort:
        return abort(card, said);
      case Event::kYield:
        return yield(card, said);
      case Event::kRelease:
        return release(card);
      default:
        check_failed("event", __FILE__, __LINE__, "check_settlement() lets no other event pass");
    }
  }

  void heartbeat(Card& card, const Settlement& said) {
    card.fate = Card::Fate::kExtended;
    card.length = said.lease.value_or(card.lease->length);
    card.expires = after(now_, card.length);
    card.standing.expires = card.expires;
    if (said.progress) card.progress = said.progress;
    if (said.checkpoint) card.checkpoint = said.checkpoint;
  }

  void complete(Card& card, const Settlement& said) {
    card.result = said.result;
    if (!card.lease->life.recurring) return leave(card, Card::Fate::kFinished, State::kCompleted, Event::kComplete);
    card.is_turn = true;
    card.forgets_checkpoint = true;
    card.due = after(now_, *card.lease->life.recurring);
    trail_.note_assignment(card.number, card.lease->life.attempt, card.lease->owner, card.lease->started_at);
    leave(card, Card::Fate::kScheduled, State::kScheduled, Event::kComplete);
  }

  void abort(Card& card, const Settlement& said) {
    const RunningRange& lease = *card.lease;
    const int tries = lease.life.tries + 1;
    const auto delay =
        retry_delay(policies_[card.number].retry, tries, lease.life.max_attempts.value_or(0), said.chance);
    if (!delay) {
      card.errors = said.errors;
      card.tries = lease.life.tries;
      return leave(card, Card::Fate::kFinished, State::kAborted, Event::kAbort);
    }
    card.due = after(now_, *delay);
    card.tries = tries;
    card.starts_anew = true;
    trail_.note_end(card.number, lease.life.attempt, lease.owner, lease.started_at, HistoryKind::kRetry, std::nullopt,
                    history_detail(to_json(said.errors)));
    leave(card, Card::Fate::kScheduled, State::kScheduled, Event::kAbort);
  }

  void yield(Card& card, const Settlement& said) {
    const RunningRange& lease = *card.lease;
    if (said.checkpoint) card.checkpoint = said.checkpoint;
    const double before = card.progress.value_or(card.stored_progress.value_or(0.0));
    trail_.note_end(card.number, lease.life.attempt, lease.owner, lease.started_at, HistoryKind::kYield,
                    said.progress.value_or(before), "");
    card.starts_anew = true;
    leave(card, Card::Fate::kReady, State::kReady, Event::kYield);
  }

  void release(Card& card) {
    trail_.forget_assignment(card.number, card.lease->life.attempt);
    leave(card, Card::Fate::kReady, State::kReady, Event::kRelease);
  }

  static void leave(Card& card, Card::Fate fate, State state, Event event) {
    card.fate = fate;
    card.standing.state = state;
    card.standing.ended = AttemptEnd{event, card.lease->owner};
    card.standing.expires.reset();
    if (!is_terminal(state)) {
      card.standing.owner.reset();
      card.standing.started_at.reset();
    }
  }

  void keep_late_result(const Card& card, const Settlement& said) {
    if (said.attempt < 1 || said.attempt > card.standing.attempt) return;
    const std::string brought = said.event == Event::kAbort ? to_json(said.errors) : said.result.value_or("");
    if (card.standing.owner && card.standing.started_at) {
      trail_.note_assignment(card.number, card.standing.attempt, *card.standing.owner, *card.standing.started_at);
    }
    trail_.note_late(card.number, said.attempt, said.owner, history_detail(brought));
  }

  // ---- Writing ----

  // A lease of which tasks left, or not all were extended alike, is cut into pieces.
  void write_leases(const std::vector<const Card*>& cards) {
    std::map<std::int64_t, std::vector<const Card*>> by_lease;
    for (const Card* card : cards) {
      if (card->fate != Card::Fate::kStays) by_lease[card->lease->life.range.lo].push_back(card);
    }
    std::vector<std::int64_t> gone, extended;
    std::vector<Instant> expires;
    std::vector<Duration> lengths;
    std::vector<RunningRange> pieces;
    for (const auto& each : by_lease) {
      const std::int64_t lo = each.first;
      const std::vector<const Card*>& touched = each.second;
      const RunningRange& lease = leases_.at(lo);
      const bool whole = static_cast<std::int64_t>(touched.size()) == lease.life.range.size() &&
                         std::ranges::all_of(touched, [&](const Card* card) {
                           return card->fate == Card::Fate::kExtended && card->expires == touched[0]->expires &&
                                  card->length == touched[0]->length;
                         });
      if (whole) {
        extended.push_back(lo);
        expires.push_back(touched[0]->expires);
        lengths.push_back(touched[0]->length);
        continue;
      }
      gone.push_back(lo);
      cut(lease, touched, pieces);
    }
    if (!extended.empty()) transaction_.send(kExtend, Params::of(extended, expires, lengths));
    delete_running(transaction_, gone);
    insert_running(transaction_, pieces);
  }

  static void cut(const RunningRange& lease, const std::vector<const Card*>& touched, std::vector<RunningRange>& pieces) {
    const auto add = [&](std::int64_t number, Duration length, Instant expires) {
      const bool joins = !pieces.empty() && pieces.back().life.range.hi == number - 1 && number > lease.life.range.lo &&
                         pieces.back().expires == expires && pieces.back().length == length;
      if (joins) {
        pieces.back().life.range.hi = number;
        return;
      }
      pieces.push_back(piece_of(lease, {number, number}));
      pieces.back().length = length;
      pieces.back().expires = expires;
    };
    auto card = touched.begin();
    for (std::int64_t number = lease.life.range.lo; number <= lease.life.range.hi; ++number) {
      if (card == touched.end() || (*card)->number != number) {
        add(number, lease.length, lease.expires);
        continue;
      }
      if ((*card)->fate == Card::Fate::kExtended) add(number, (*card)->length, (*card)->expires);
      ++card;
    }
  }

  // What the lease kept, for the place after it.
  static Life life_after(const Card& card, std::int64_t last) {
    Life life = card.lease->life;
    life.range = {card.number, last};
    life.ended = card.standing.ended;
    return life;
  }

  static std::vector<const Card*> with_fate(const std::vector<const Card*>& cards, Card::Fate fate) {
    std::vector<const Card*> chosen;
    std::ranges::copy_if(cards, std::back_inserter(chosen), [&](const Card* card) { return card->fate == fate; });
    return chosen;
  }

  // Results of at most 1 KiB share a range; errors and larger ones have a row of their own.
  void write_finished(const std::vector<const Card*>& cards) {
    const auto finished = with_fate(cards, Card::Fate::kFinished);
    const auto small = [](const Card& card) {
      return card.errors.empty() && card.result.value_or("").size() <= kMostResultBytesInARange;
    };
    std::vector<FinishedRange> outcomes;
    auto card = finished.begin();
    for_each_range(
        finished, [](const Card* each) { return each->number; },
        [&](const Card* a, const Card* b) {
          return a->lease == b->lease && a->standing.state == b->standing.state && small(*a) && small(*b);
        },
        [&](const Card* first, const Card* last) {
          FinishedRange outcome{.life = life_after(*first, last->number),
                               .state = first->standing.state,
                               .owner = first->lease->owner,
                               .started_at = first->lease->started_at};
          std::vector<std::optional<std::string>> results;
          for (std::int64_t number = first->number; number <= last->number; ++number) {
            results.push_back((*card++)->result);
          }
          const bool any = std::ranges::any_of(results, [](const auto& result) { return result.has_value(); });
          if (any) outcome.results = std::move(results);
          if (!first->errors.empty()) outcome.errors = texts_of(first->errors);
          outcomes.push_back(std::move(outcome));
        });
    insert_finished(transaction_, outcomes);
  }

  void write_ready(const std::vector<const Card*>& cards) {
    for_each_range(
        with_fate(cards, Card::Fate::kReady), [](const Card* each) { return each->number; },
        [](const Card* a, const Card* b) {
          return a->lease == b->lease && a->standing.ended->event == b->standing.ended->event;
        },
        [&](const Card* first, const Card* last) {
          ready_.push_back(
              {.life = life_after(*first, last->number), .rank = first->lease->rank, .at = first->lease->at});
        });
    insert_ready(transaction_, ready_);
  }

  void write_scheduled(const std::vector<const Card*>& cards) {
    std::vector<ScheduledRange> delayed;
    std::vector<std::int64_t> with_result, without_result;
    std::vector<std::string_view> results;
    for (const Card* card : with_fate(cards, Card::Fate::kScheduled)) {
      ScheduledRange range{
          .life = life_after(*card, card->number), .due = card->due, .priority = policies_[card->number].priority};
      range.life.tries = card->tries;
      delayed.push_back(std::move(range));
      if (!card->is_turn) continue;
      if (card->result) {
        with_result.push_back(card->number);
        results.push_back(*card->result);
      } else {
        without_result.push_back(card->number);
      }
    }
    insert_scheduled(transaction_, delayed);
    if (!with_result.empty()) transaction_.send(kSaveTurns, Params::of(with_result, results));
    if (!without_result.empty()) transaction_.send(kForgetTurns, Params::of(without_result));
  }

  // First what was reported, then what starts anew.
  void write_progress(const std::vector<const Card*>& cards) {
    std::vector<std::int64_t> numbers, anew, forgotten;
    std::vector<std::int32_t> attempt;
    std::vector<std::optional<double>> progress;
    std::vector<std::optional<std::string_view>> checkpoint;
    for (const Card* card : cards) {
      if (card->progress || card->checkpoint) {
        numbers.push_back(card->number);
        attempt.push_back(card->lease->life.attempt);
        progress.push_back(card->progress);
        checkpoint.emplace_back(card->checkpoint);
      }
      if (card->forgets_checkpoint) {
        forgotten.push_back(card->number);
      } else if (card->starts_anew) {
        anew.push_back(card->number);
      }
    }
    if (!numbers.empty()) transaction_.send(kSaveProgress, Params::of(numbers, attempt, progress, checkpoint));
    reset_progress(transaction_, ranges_of(anew), false);
    reset_progress(transaction_, ranges_of(forgotten), true);
  }

  Transaction& transaction_;
  std::span<const Settlement> settlements_;
  const bool is_confirmed_;
  std::vector<std::optional<std::int64_t>> numbers_;  // of each settlement
  std::unordered_map<std::int64_t, TaskId> ids_;      // of numbers that callers gave
  std::map<std::int64_t, RunningRange> leases_;         // locked, by their first number
  Standings standings_;                               // of tasks that are not leased
  std::map<std::int64_t, Card> cards_;
  std::unordered_map<std::int64_t, Policy> policies_;
  Trail trail_;
  std::vector<ReadyRange> ready_;
  Instant now_;
};

}  // namespace

Result<std::vector<SettleOutcome>> Settler::settle(std::span<const Settlement> settlements) {
  if (settlements.empty()) return std::vector<SettleOutcome>();
  if (const auto leases = whole_leases(settlements, known_)) {
    const auto completed = complete_whole(pool_, *leases);
    if (!completed.ok()) return completed.error();
    known_.forget_leases(settlements);
    if (*completed) return completed_outcomes(settlements);
  }
  const bool is_confirmed = known_.confirm(settlements);
  return pool_.transact<std::vector<SettleOutcome>>(
      [&](Transaction& transaction) -> Result<std::vector<SettleOutcome>> {
        Batch batch(transaction, settlements, is_confirmed);
        if (!batch.prepare()) return transaction.failure()->error;
        std::vector<SettleOutcome> outcomes;
        outcomes.reserve(settlements.size());
        for (std::size_t i = 0; i < settlements.size(); ++i) outcomes.push_back(batch.settle(i));
        batch.write();
        if (auto done = transaction.commit(); !done.ok()) return done.error();
        batch.lower(floors_);
        return outcomes;
      });
}

}  // namespace horae::postgres
