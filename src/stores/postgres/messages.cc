#include "stores/postgres/messages.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/utf8.h"
#include "stores/headers.h"
#include "stores/message_rules.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/message_reader.h"
#include "stores/postgres/message_rows.h"
#include "stores/upkeep_parts.h"

namespace horae::postgres {
namespace {

const Sql kEnqueue = statement("message_enqueue", Changes::kAny);
const Sql kRemove = statement("message_remove", Changes::kAny);
const Sql kGiveBack = statement("message_give_back", Changes::kAny);
const Sql kReset = statement("message_reset", Changes::kAny);
const Sql kTake = statement("message_take", Changes::kAny);
const Sql kNext = statement("message_next");
const Sql kCancel = statement("message_cancel", Changes::kAny);
const Sql kMove = statement("message_move", Changes::kAny);
const Sql kExists = statement("message_exists");
const Sql kLook = statement("message_look");

// Messages that another transaction stores or removes at the same moment are tried again so often.
constexpr int kMostTries = 3;

std::optional<Blob> blob_of(const Bytes& bytes) {
  if (!bytes) return std::nullopt;
  return Blob{*bytes};
}

bool comes_first(const ReadiedMessage& a, const ReadiedMessage& b) {
  return std::tie(a.due, a.message.id) < std::tie(b.due, b.message.id);
}

// Readyings as the statements take them: each one once, in the order of their ids.
struct NamedReadyings {
  explicit NamedReadyings(std::size_t size) : answers(size, false) {}

  std::vector<std::size_t> places;  // in the batch, of those that are sent
  std::vector<std::string_view> ids;
  std::vector<Instant> times;
  std::vector<Uuid> nodes;
  std::vector<bool> answers;

  // Each row begins with the place in the arrays, counted from 1.
  void take_answers(const Rows& rows) {
    for (const Row row : rows) answers[places[static_cast<std::size_t>(row.integer(0)) - 1]] = true;
  }
};

template <typename Items, typename Get>
NamedReadyings name_readyings(const Items& items, Get readying_of) {
  NamedReadyings named(items.size());
  std::vector<std::size_t>& places = named.places;
  const auto key = [&](std::size_t place) {
    const Readying& readying = readying_of(items[place]);
    return std::tie(readying.id, readying.readied_at, readying.readied_by);
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (is_text(readying_of(items[i]).id)) places.push_back(i);
  }
  std::ranges::stable_sort(places, [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  const auto same = [&](std::size_t a, std::size_t b) { return key(a) == key(b); };
  places.erase(std::unique(places.begin(), places.end(), same), places.end());
  for (const std::size_t place : places) {
    const Readying& readying = readying_of(items[place]);
    named.ids.emplace_back(readying.id);
    named.times.push_back(readying.readied_at);
    named.nodes.push_back(readying.readied_by);
  }
  return named;
}

const Readying& itself(const Readying& readying) { return readying; }
const Readying& of_give_back(const GiveBack& failed) { return failed.readying; }

Params give_back_params(const TurnWish& wish, const NamedReadyings& named) {
  std::vector<std::optional<Duration>> delays;
  std::vector<bool> unsure;
  for (const std::size_t place : named.places) {
    const Duration delay = whole_microseconds(wish.failed[place].delay);
    delays.push_back(delay == Duration::zero() ? std::nullopt
                                               : std::optional(delay + whole_microseconds(wish.advance)));
    unsure.push_back(wish.failed[place].may_be_published);
  }
  return Params::of(wish.delay_queue, named.ids, named.times, named.nodes, delays, unsure);
}

}  // namespace

// ---- Enqueue ----

// A call of enqueue(), until all of its messages are decided.
struct Messages::Batch {
  std::span<const NewMessage> messages;
  std::vector<bool> fit;
  std::vector<std::size_t> open;                                 // the first ones of each id that are not decided yet
  std::map<std::string, PresentMessage, std::less<>> present{};  // by id: what was there before
  EnqueueOutcome outcome{};

  Params params(const EnqueueWish& wish) const;
};

Params Messages::Batch::params(const EnqueueWish& wish) const {
  std::vector<std::string_view> ids;
  std::vector<Instant> deadlines;
  std::vector<bool> may_ready;
  std::vector<std::optional<std::int32_t>> partitions;
  std::vector<std::optional<std::int64_t>> offsets;
  std::vector<std::string> headers;
  std::vector<std::optional<Blob>> keys;
  std::vector<std::optional<Blob>> values;
  for (const std::size_t i : open) {
    const auto& [message, place] = messages[i];
    ids.emplace_back(message.id);
    deadlines.push_back(message.deadline);
    may_ready.push_back(fit[i]);
    partitions.push_back(place ? std::optional(place->partition) : std::nullopt);
    offsets.push_back(place ? std::optional(place->offset) : std::nullopt);
    headers.push_back(encode_headers(message.headers));
    keys.push_back(blob_of(message.key));
    values.push_back(blob_of(message.value));
  }
  return Params::of(wish.delay_queue, wish.node, wish.advance, reach_of(wish.advance, wish.horizon), wish.stores_late,
                    ids, deadlines, may_ready, partitions, offsets, headers, keys, values, wish.firing_advance());
}

Result<void> Messages::enqueue_some(const EnqueueWish& wish, Batch& batch) {
  const Params params = batch.params(wish);
  std::map<std::string, bool> stored;  // the ids, and whether they are ready
  const auto done = pool_.transact_in_one_trip<Instant>([&](Transaction& transaction) -> Result<Instant> {
    const auto ticket = transaction.send(kEnqueue, params);
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    Instant now{};
    for (const Row row : transaction.rows(ticket)) {
      if (row.is_null(1)) {
        now = row.instant(0);
      } else if (row.boolean(2)) {
        stored.emplace(row.text(1), row.boolean(3));
      } else {
        batch.present.emplace(row.text(1), PresentMessage{read_place(row, 4), row.boolean(3)});
      }
    }
    return now;
  });
  if (!done.ok()) return done.error();
  const Instant now = batch.outcome.now = *done;

  std::vector<std::size_t> open;
  for (const std::size_t i : batch.open) {
    const Message& message = batch.messages[i].message;
    const auto found = stored.find(message.id);
    if (found != stored.end()) {
      batch.present.erase(message.id);  // it was gone when its turn came
      batch.outcome.kinds[i] = found->second ? EnqueueKind::kReadied : EnqueueKind::kWaiting;
      if (found->second) {
        batch.outcome.readied.push_back({message, {message.id, now, wish.node}, message.deadline});
      }
      floors_.lower(wish.delay_queue, message.deadline, !found->second);
    } else if (!batch.present.contains(message.id)) {
      const bool is_late = !wish.stores_late && is_due(message.deadline, now, wish.advance);
      batch.outcome.kinds[i] = is_late ? EnqueueKind::kLate : EnqueueKind::kFiring;
      if (!is_late) open.push_back(i);
    }
  }
  batch.open = std::move(open);
  return {};
}

Result<EnqueueOutcome> Messages::enqueue(const EnqueueWish& wish) {
  if (auto checked = check_wish(wish); !checked.ok()) return checked.error();
  Batch batch{
      .messages = wish.messages, .fit = fit_into(wish.ready, wish.messages), .open = first_of_each_id(wish.messages)};
  batch.outcome.kinds.assign(wish.messages.size(), EnqueueKind::kRepeated);
  for (int tries = 0; tries < kMostTries && (tries == 0 || !batch.open.empty()); ++tries) {
    if (auto done = enqueue_some(wish, batch); !done.ok()) return done.error();
  }
  for (std::size_t i = 0; i < wish.messages.size(); ++i) {
    const auto found = batch.present.find(wish.messages[i].message.id);
    if (found != batch.present.end()) batch.outcome.kinds[i] = judge(found->second, wish.messages[i]);
  }
  std::ranges::sort(batch.outcome.readied, comes_first);
  return std::move(batch.outcome);
}

// ---- Turn ----

Result<TurnOutcome> Messages::turn(const TurnWish& wish) {
  if (auto checked = check_wish(wish); !checked.ok()) return checked.error();
  NamedReadyings fired = name_readyings(wish.fired, itself);
  NamedReadyings failed = name_readyings(wish.failed, of_give_back);
  const Params remove = Params::of(wish.delay_queue, fired.ids, fired.times, fired.nodes);
  const Params give_back = give_back_params(wish, failed);
  const MessageFloors::Look look = floors_.begin(wish.delay_queue);
  const auto floor = failed.ids.empty() ? floor_of(look.waiting) : std::nullopt;  // what is given back may lie below
  const Params take = Params::of(wish.delay_queue, wish.node, reach_of(wish.advance, wish.horizon), floor,
                                 limit_of(wish.ready.max), limit_of(wish.ready.max_bytes));
  const Params next = Params::of(wish.delay_queue, floor, floor_of(look.present));

  return pool_.transact_in_one_trip<TurnOutcome>([&](Transaction& transaction) -> Result<TurnOutcome> {
    std::optional<std::size_t> removed;
    std::optional<std::size_t> given_back;
    std::optional<std::size_t> taken;
    if (!fired.ids.empty()) removed = transaction.send(kRemove, remove);
    if (!failed.ids.empty()) given_back = transaction.send(kGiveBack, give_back);
    if (wish.ready.max > 0) taken = transaction.send(kTake, take);
    const auto looked = transaction.send(kNext, next);
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();

    const Row moment = transaction.rows(looked)[0];
    TurnOutcome outcome{.now = moment.instant(0), .removed = {}, .given_back = {}, .readied = {}, .next_in = {}};
    if (removed) fired.take_answers(transaction.rows(*removed));
    if (given_back) failed.take_answers(transaction.rows(*given_back));
    outcome.removed = fired.answers;
    outcome.given_back = failed.answers;
    if (taken) {
      for (const Row row : transaction.rows(*taken)) {
        auto message = read_message(row, 0);
        if (!message.ok()) return message.error();
        Readying readying{message->id, row.instant(6), wish.node};
        outcome.readied.push_back({std::move(*message), std::move(readying), row.instant(5)});
      }
    }
    std::ranges::sort(outcome.readied, comes_first);
    auto first_waiting = moment.optional_instant(1);
    floors_.end(look, first_waiting, moment.optional_instant(2));
    if (given_back) {
      for (const Row row : transaction.rows(*given_back)) floors_.lower(wish.delay_queue, row.instant(1), true);
    }
    if (first_waiting) outcome.next_in = distance(outcome.now, fires_at(*first_waiting, wish.advance));
    outcome.has_rows = first_waiting || !outcome.readied.empty() || !moment.is_null(2);
    return outcome;
  });
}

// ---- Recovery, changes ----

Result<std::vector<bool>> Messages::reset(std::string_view delay_queue, std::span<const Readying> stuck) {
  if (auto checked = check_batch_of(delay_queue, stuck.size()); !checked.ok()) return checked.error();
  NamedReadyings named = name_readyings(stuck, itself);
  if (named.ids.empty()) return named.answers;
  const Params params = Params::of(delay_queue, named.ids, named.times, named.nodes);
  return pool_.transact_in_one_trip<std::vector<bool>>([&](Transaction& transaction) -> Result<std::vector<bool>> {
    const auto ticket = transaction.send(kReset, params);
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    named.take_answers(transaction.rows(ticket));
    for (const Row row : transaction.rows(ticket)) floors_.lower(std::string(delay_queue), row.instant(1), true);
    return named.answers;
  });
}

Result<std::vector<Verdict>> Messages::change_waiting(const std::string& delay_queue, std::span<const std::string> ids,
                                                      const Sql& sql, const Params& params) {
  std::vector<std::string_view> texts;
  for (const std::string& id : ids) texts.push_back(text_or_nothing(id));
  return pool_.transact_in_one_trip<std::vector<Verdict>>(
      [&](Transaction& transaction) -> Result<std::vector<Verdict>> {
        const auto change = transaction.send(sql, params);
        const auto exists = transaction.send(kExists, Params::of(delay_queue, texts));
        if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
        std::set<std::string_view> changed;
        std::set<std::string_view> there;
        for (const Row row : transaction.rows(change)) changed.insert(row.view(0));
        for (const Row row : transaction.rows(exists)) there.insert(row.view(0));
        std::vector<Verdict> verdicts;
        for (const std::string& id : ids) {
          verdicts.push_back(changed.contains(id) ? Verdict::kAccepted
                             : there.contains(id) ? Verdict::kWrongState
                                                  : Verdict::kNotFound);
        }
        return verdicts;
      });
}

Result<std::vector<Verdict>> Messages::cancel(std::string_view delay_queue, std::span<const std::string> ids) {
  if (auto checked = check_changes(delay_queue, ids); !checked.ok()) return checked.error();
  std::vector<std::string_view> texts;
  for (const std::string& id : ids) texts.push_back(text_or_nothing(id));
  std::ranges::sort(texts);
  return change_waiting(std::string(delay_queue), ids, kCancel, Params::of(delay_queue, texts));
}

Result<std::vector<Verdict>> Messages::move(std::string_view delay_queue, std::span<const MoveWish> wishes) {
  const std::vector<std::string> ids = ids_of(wishes);
  if (auto checked = check_changes(delay_queue, ids); !checked.ok()) return checked.error();
  std::vector<std::pair<std::string_view, Instant>> moves;
  for (const auto& [id, deadline] : wishes) moves.emplace_back(text_or_nothing(id), deadline);
  std::ranges::sort(moves);
  std::vector<std::string_view> texts;
  std::vector<Instant> deadlines;
  for (const auto& [id, deadline] : moves) {
    texts.push_back(id);
    deadlines.push_back(deadline);
  }
  const std::string queue(delay_queue);
  auto verdicts = change_waiting(queue, ids, kMove, Params::of(delay_queue, texts, deadlines));
  if (verdicts.ok()) {
    for (const Instant deadline : deadlines) floors_.lower(queue, deadline, true);
  }
  return verdicts;
}

Result<std::vector<DelayLook>> Messages::look(std::span<const std::string> delay_queues) {
  std::vector<std::string_view> names;
  std::vector<MessageFloors::Look> looks;
  std::vector<std::optional<Instant>> waiting;
  std::vector<std::optional<Instant>> present;
  for (const std::string& queue : delay_queues) {
    if (auto checked = check_batch_of(queue, delay_queues.size()); !checked.ok()) return checked.error();
    names.emplace_back(queue);
    looks.push_back(floors_.begin(queue));
    waiting.push_back(floor_of(looks.back().waiting));
    present.push_back(floor_of(looks.back().present));
  }
  if (names.empty()) return std::vector<DelayLook>();
  return pool_.alone<std::vector<DelayLook>>([&](Transaction& transaction) -> Result<std::vector<DelayLook>> {
    const auto ticket = transaction.send(kLook, Params::of(names, waiting, present));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    std::vector<DelayLook> answers;
    for (const Row row : transaction.rows(ticket)) {
      const auto due = row.optional_instant(1);
      floors_.end(looks[answers.size()], due, row.optional_instant(2));
      const auto next_in = due ? std::optional(distance(row.instant(0), *due)) : std::nullopt;
      answers.push_back({.has_rows = due || !row.is_null(2), .next_in = next_in});
    }
    return answers;
  });
}

}  // namespace horae::postgres
