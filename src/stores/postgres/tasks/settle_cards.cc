#include "stores/postgres/tasks/settle_cards.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "stores/postgres/connection/statements.h"
#include "stores/postgres/layout/effects.h"

namespace horae::postgres {
namespace {

const Sql kSaveProgress = statement("save_progress", Changes::kEach);
const Sql kExtend = statement("extend", Changes::kEach);
const Sql kSaveTurns = statement("save_turns", Changes::kEach);
const Sql kForgetTurns = statement("forget_turns", Changes::kAny);

using Cards = std::vector<const Card*>;

// What stays of a range of which tasks left, or not all were extended alike.
void cut(const RunningRange& lease, const Cards& touched, std::vector<RunningRange>& pieces) {
  const auto add = [&](std::int64_t number, Duration length, std::optional<Instant> expires) {
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
    if ((*card)->is_extended()) add(number, *(*card)->length, std::nullopt);
    ++card;
  }
}

// What happens to the ranges of running tasks.
struct RunningChanges {
  std::vector<std::int64_t> gone;
  std::vector<RunningRange> pieces;    // what is left of them
  std::vector<std::int64_t> extended;  // as a whole
  std::vector<Duration> lengths;       // of those
};

RunningChanges changes_of(const Cards& cards) {
  std::map<std::int64_t, Cards> by_lease;
  for (const Card* card : cards) {
    if (card->effect) by_lease[card->lease->life.range.lo].push_back(card);
  }
  RunningChanges changes;
  for (const auto& each : by_lease) {
    const std::int64_t lo = each.first;
    const Cards& touched = each.second;
    const RunningRange& lease = *touched[0]->lease;
    const bool whole = static_cast<std::int64_t>(touched.size()) == lease.life.range.size() &&
                       std::ranges::all_of(touched, [&](const Card* card) {
                         return card->is_extended() && card->length == touched[0]->length;
                       });
    if (whole) {
      changes.extended.push_back(lo);
      changes.lengths.push_back(*touched[0]->length);
      continue;
    }
    changes.gone.push_back(lo);
    cut(lease, touched, changes.pieces);
  }
  return changes;
}

Tickets write_leases(Transaction& transaction, const RunningChanges& changes) {
  Tickets tickets = insert_running(transaction, changes.pieces);
  if (changes.extended.empty()) return tickets;
  tickets.push_back(transaction.send(kExtend, Params::of(changes.extended, changes.lengths)));
  return tickets;
}

// What the range keeps in the next table.
Life life_of(const Card& card, std::int64_t last) {
  Life life = life_after(card.lease->life, *card.effect, card.lease->owner);
  life.range = {card.number, last};
  return life;
}

Cards in_state(const Cards& cards, bool (*is_wanted)(State)) {
  Cards chosen;
  std::ranges::copy_if(cards, std::back_inserter(chosen),
                       [&](const Card* card) { return card->effect && is_wanted(card->standing.state); });
  return chosen;
}

// Results of at most 1 KiB share a range; errors and larger ones have a row of their own.
void write_finished(Transaction& transaction, const Cards& cards) {
  const auto finished = in_state(cards, is_terminal);
  const auto small = [](const Card& card) {
    return card.effect->errors == Effect::Errors::kStay && card.result.value_or("").size() <= kMostResultBytesInARange;
  };
  std::vector<FinishedRange> ranges;
  auto card = finished.begin();
  for_each_range(
      finished, [](const Card* each) { return each->number; },
      [&](const Card* a, const Card* b) {
        return a->lease == b->lease && a->standing.state == b->standing.state && small(*a) && small(*b);
      },
      [&](const Card* first, const Card* last) {
        FinishedRange range = finished_after(*first->lease, *first->effect, first->errors);
        range.life.range = {first->number, last->number};
        std::vector<std::optional<std::string>> results;
        for (std::int64_t number = first->number; number <= last->number; ++number) {
          results.push_back((*card++)->result);
        }
        const bool any = std::ranges::any_of(results, [](const auto& result) { return result.has_value(); });
        if (any) range.results = std::move(results);
        ranges.push_back(std::move(range));
      });
  insert_finished(transaction, ranges);
}

std::vector<ReadyRange> write_ready(Transaction& transaction, const Cards& cards) {
  std::vector<ReadyRange> ready;
  for_each_range(
      in_state(cards, [](State state) { return state == State::kReady; }),
      [](const Card* each) { return each->number; },
      [](const Card* a, const Card* b) {
        return a->lease == b->lease && a->standing.ended->event == b->standing.ended->event;
      },
      [&](const Card* first, const Card* last) {
        ready.push_back({.life = life_of(*first, last->number), .rank = first->lease->rank, .at = first->lease->at});
      });
  insert_ready(transaction, ready);
  return ready;
}

void write_scheduled(Transaction& transaction, const Cards& cards) {
  std::vector<ScheduledRange> scheduled;
  std::vector<std::int64_t> with_result, without_result;
  std::vector<std::string_view> results;
  for (const Card* card : in_state(cards, [](State state) { return state == State::kScheduled; })) {
    scheduled.push_back(
        {.life = life_of(*card, card->number), .priority = card->priority, .due_in = card->effect->due_in});
    if (!card->effect->replaces_result) continue;
    if (card->result) {
      with_result.push_back(card->number);
      results.push_back(*card->result);
    } else {
      without_result.push_back(card->number);
    }
  }
  insert_scheduled(transaction, scheduled);
  if (!with_result.empty()) transaction.send(kSaveTurns, Params::of(with_result, results));
  if (!without_result.empty()) transaction.send(kForgetTurns, Params::of(without_result));
}

// First what was reported, then what begins again.
void write_progress(Transaction& transaction, const Cards& cards) {
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
    if (!card->effect || card->standing.state == State::kRunning) continue;
    if (card->effect->checkpoint == Effect::Checkpoint::kDropped) {
      forgotten.push_back(card->number);
    } else if (card->effect->progress == 0.0) {  // 1.0 needs no row: it follows from the state
      anew.push_back(card->number);
    }
  }
  if (!numbers.empty()) transaction.send(kSaveProgress, Params::of(numbers, attempt, progress, checkpoint));
  reset_progress(transaction, ranges_of(anew), false);
  reset_progress(transaction, ranges_of(forgotten), true);
}

}  // namespace

WrittenCards write_cards(Transaction& transaction, const std::vector<const Card*>& cards) {
  const RunningChanges running = changes_of(cards);
  delete_running(transaction, running.gone);
  write_finished(transaction, cards);
  WrittenCards written;
  written.ready = write_ready(transaction, cards);
  write_scheduled(transaction, cards);
  write_progress(transaction, cards);
  written.leases = write_leases(transaction, running);
  return written;
}

}  // namespace horae::postgres
