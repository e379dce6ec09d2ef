#include "engine/relay/intake.h"

#include <algorithm>

#include "base/mutant.h"
#include "engine/relay/sizes.h"

namespace horae {
namespace {

constexpr Duration kFiringPause =
    std::chrono::milliseconds(50);                              // until an id that is about to be fired is asked again
constexpr Duration kFullPause = std::chrono::milliseconds(20);  // after the output took no more
constexpr Duration kClosedPause = std::chrono::milliseconds(100);  // while it takes nothing
constexpr Duration kIdle = std::chrono::seconds(1);
constexpr Duration kShortestRetry = std::chrono::milliseconds(100);
constexpr int kLongestRetry = 4;  // doublings

std::size_t bytes_of(const SourceRecord& record) {
  return kMessageOverhead + size_of(record.key) + size_of(record.value) + size_of(record.headers);
}

}  // namespace

void Intake::drain() {
  {
    const std::lock_guard lock(mutex_);
    is_draining_ = true;
  }
  context_.wake.intake();
}

bool Intake::is_drained() const {
  const std::lock_guard lock(mutex_);
  return is_draining_ && handed_over_ == 0 && pending_count_ == 0;
}

std::size_t Intake::pending() const {
  const std::lock_guard lock(mutex_);
  return pending_count_;
}

// ---- The loop ----

MonotonicTime Intake::run_once(MonotonicTime now) {
  handle_arrived(now);
  bool is_draining = false;
  {
    const std::lock_guard lock(mutex_);
    is_draining = is_draining_;
  }
  const bool is_early = now < next_batch_;
  if (is_draining) {
    source_.set_open(false);
    while (!asking_.empty()) drop(asking_.begin()->second);
  } else if (!is_early) {
    was_full_ = false;
    const bool open = is_open(now);
    source_.set_open(open);
    if (open) take(now);
    const bool is_good = ask(now, false) && ask(now, true);
    store_failures_ = is_good ? 0 : store_failures_ + 1;
    const Duration pause = was_full_ ? Duration::zero() : open ? context_.options.gather : kClosedPause;
    next_batch_ =
        now + (is_good ? pause : context_.jittered(kShortestRetry * (1 << std::min(store_failures_, kLongestRetry))));
  }
  pass_on_done();
  return is_early && !is_draining ? next_batch_ : next_run(now);
}

MonotonicTime Intake::next_run(MonotonicTime now) const {
  const MonotonicTime wanted = asking_.empty() ? now + kIdle : asking_.begin()->first;
  // Closed, it looks soon whether it may open: nothing wakes it then.
  const bool looks_soon = was_full_ || next_batch_ > now + context_.options.gather;
  return std::max(next_batch_, looks_soon ? now : wanted);
}

bool Intake::is_open(MonotonicTime now) {
  if (HORAE_MUTANT("intake_ignores_backlog")) return true;
  return !turn_.is_behind() && !context_.output.is_stalled(now) && pending_.size() < context_.options.most_pending &&
         bytes_ < context_.options.most_pending_bytes;
}

// ---- Records ----

void Intake::take(MonotonicTime now) {
  const RelayOptions& options = context_.options;
  const std::size_t most = std::min(options.batch, options.most_pending - pending_.size());
  auto records = source_.take(most, options.batch_bytes);
  std::size_t bytes = 0;
  was_full_ = records.size() == most;
  for (SourceRecord& record : records) {
    bytes += bytes_of(record);
    const auto head = read_head(record.headers, options.headers);
    head.ok() ? take_message(std::move(record), now) : take_bad(std::move(record), head.error(), now);
  }
  was_full_ = was_full_ || bytes >= options.batch_bytes / 2;
}

Intake::Pending& Intake::add(SourceRecord& record, MonotonicTime now) {
  Pending& pending = pending_[++last_number_];
  pending.record = {.place = record.place, .assignment = record.assignment};
  pending.bytes = bytes_of(record);
  pending.ask_at = now;
  asking_.emplace(now, last_number_);
  bytes_ += pending.bytes;
  const std::lock_guard lock(mutex_);
  pending_count_ = pending_.size();
  return pending;
}

void Intake::take_message(SourceRecord record, MonotonicTime now) {
  if (HORAE_MUTANT("offset_before_insert")) done_.push_back({.place = record.place, .assignment = record.assignment});
  Pending& pending = add(record, now);
  pending.message = {.message = message_from_record(std::move(record.key), std::move(record.value),
                                                    std::move(record.headers), context_.options.headers)
                                    .value(),
                     .place = record.place};
}

void Intake::take_bad(SourceRecord record, const Error& error, MonotonicTime now) {
  context_.figures.bad(record_fault(record.headers, context_.options.headers));
  add(record, now).bad = std::move(record);
  refuse(last_number_, error, now);
}

// The record is no message, or one that no store takes.
void Intake::refuse(Number number, const Error& error, MonotonicTime now) {
  Pending& pending = pending_.at(number);
  if (const auto suppressed = log_limit_.next(now)) {
    context_.log.error("dropped a record that is not a message", {{"topic", context_.options.input},
                                                                  {"partition", pending.record.place.partition},
                                                                  {"offset", pending.record.place.offset},
                                                                  {"reason", error.message},
                                                                  {"suppressed_lines", *suppressed}});
  }
  pending.fault = error.message;
  pending.is_bad = true;
  if (HORAE_MUTANT("bad_record_blocks")) return drop(number);
  if (!context_.dead_letters) return finish(number);
  dead_letter(number, pending, now);
}

void Intake::dead_letter(Number number, Pending& pending, MonotonicTime now) {
  Publication letter;
  if (pending.bad) {
    letter = {
        .ticket = 0, .id = {}, .key = pending.bad->key, .value = pending.bad->value, .headers = pending.bad->headers};
  } else {
    const Message& message = pending.message.message;
    letter = {.ticket = 0, .id = message.id, .key = message.key, .value = message.value, .headers = message.headers};
    letter.headers.push_back({context_.options.headers.id, message.id});
  }
  hand_over(number, pending, Step::kDeadLetter);
  context_.dead_letters->publish(std::move(letter),
                                 {.reason = pending.fault,
                                  .delay_queue = context_.options.queue,
                                  .topic = context_.options.input,
                                  .place = pending.record.place},
                                 now, [this, number](const Delivery& delivery, MonotonicTime) {
                                   {
                                     const std::lock_guard lock(mutex_);
                                     arrived_.push_back({.number = number, .delivery = delivery, .is_letter = true});
                                   }
                                   context_.wake.intake();
                                 });
}

// ---- The store ----

std::vector<Intake::Number> Intake::due_to_ask(MonotonicTime now, bool must_be_stored) {
  std::vector<Number> due, lost, letters;
  std::size_t bytes = 0;
  for (const auto& [when, number] : asking_) {
    const Pending& pending = pending_.at(number);
    if (when > now || due.size() == context_.options.batch || bytes > context_.options.batch_bytes) break;
    if (!source_.is_assigned(pending.record) && !HORAE_MUTANT("revoked_records_are_kept")) {
      lost.push_back(number);
    } else if (!pending.fault.empty() && !pending.must_be_stored) {
      letters.push_back(number);
    } else if (pending.must_be_stored == must_be_stored) {
      due.push_back(number);
      bytes += pending.bytes;
    }
  }
  for (const Number number : lost) drop(number);
  for (const Number number : letters) dead_letter(number, pending_.at(number), now);
  std::ranges::sort(due);  // the first of an id counts
  return due;
}

bool Intake::ask(MonotonicTime now, bool must_be_stored) {
  const std::vector<Number> due = due_to_ask(now, must_be_stored);
  return due.empty() || ask_for(due, must_be_stored, now);
}

bool Intake::ask_for(const std::vector<Number>& numbers, bool must_be_stored, MonotonicTime now) {
  const auto outcome = enqueue(numbers, must_be_stored, now);
  if (outcome.ok()) {
    apply(numbers, *outcome, now);
    return true;
  }
  if (!outcome.error().retryable() && numbers.size() > 1) {  // one of them is wrong
    return std::ranges::all_of(numbers, [&](Number number) { return ask_for({number}, must_be_stored, now); });
  }
  if (!outcome.error().retryable()) {
    context_.figures.bad("refused_by_store");
    refuse(numbers.front(), outcome.error(), now);
    return true;
  }
  if (const auto suppressed = log_limit_.next(now)) {
    context_.log.warn("cannot store messages; they are tried again",
                      {{"reason", outcome.error().message}, {"suppressed_lines", *suppressed}});
  }
  return false;
}

Result<EnqueueOutcome> Intake::enqueue(const std::vector<Number>& numbers, bool must_be_stored, MonotonicTime now) {
  std::vector<NewMessage> messages;
  messages.reserve(numbers.size());
  for (const Number number : numbers) messages.push_back(std::move(pending_.at(number).message));
  ReadyLimits ready = context_.holdings.room();
  ready.max = std::min(ready.max, context_.options.batch);
  ready.max_bytes = std::min(ready.max_bytes, context_.options.batch_bytes);
  const bool readies = ready.max > 0 && !context_.output.is_stalled(now) && context_.holdings.begin_readying();
  auto outcome = context_.timed([&] {
    return context_.store.enqueue({.delay_queue = context_.options.queue,
                                   .node = context_.node,
                                   .advance = context_.advance.value(),
                                   .horizon = context_.options.horizon,
                                   .ready = readies ? ready : ReadyLimits{},
                                   .stores_late = must_be_stored,
                                   .messages = messages});
  });
  if (outcome.ok()) firing_.add(std::move(outcome->readied));
  if (readies) context_.holdings.end_readying(!outcome.ok());
  if (readies && !outcome.ok()) context_.wake.turn();
  for (std::size_t i = 0; i < numbers.size(); ++i) pending_.at(numbers[i]).message = std::move(messages[i]);
  return outcome;
}

void Intake::apply(const std::vector<Number>& numbers, const EnqueueOutcome& outcome, MonotonicTime now) {
  std::vector<Number> late;
  std::size_t stored = 0, repeated = 0;
  std::set<std::string> late_ids;  // of a planted bug
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Number number = numbers[i];
    const Message& message = pending_.at(number).message.message;
    EnqueueKind kind = outcome.kinds[i];
    if (kind == EnqueueKind::kFiring && HORAE_MUTANT("rearmed_id_is_swallowed")) kind = EnqueueKind::kRepeated;
    if (kind == EnqueueKind::kRepeated) {
      const bool is_late = is_due(message.deadline, outcome.now, context_.advance.value());
      if (is_late && HORAE_MUTANT("late_ignores_waiting_id")) kind = EnqueueKind::kLate;
      if (late_ids.contains(message.id) && HORAE_MUTANT("late_repeat_in_batch_fires")) kind = EnqueueKind::kLate;
    }
    if (kind == EnqueueKind::kLate && HORAE_MUTANT("late_repeat_in_batch_fires")) late_ids.insert(message.id);
    switch (kind) {
      case EnqueueKind::kWaiting:
      case EnqueueKind::kReadied:
        ++stored;
        finish(number);
        break;
      case EnqueueKind::kRepeated:
        ++repeated;
        finish(number);
        break;
      case EnqueueKind::kLate:
        late.push_back(number);
        break;
      case EnqueueKind::kFiring:
        ask_again(number, pending_.at(number), now + kFiringPause);
        break;
    }
  }
  context_.figures.enqueued.add(stored);
  context_.figures.repeated.add(repeated);
  if (stored > 0 && turn_.is_idle()) context_.wake.turn();
  publish_late(late, now);
}

void Intake::publish_late(const std::vector<Number>& numbers, MonotonicTime now) {
  const std::size_t room = std::min(numbers.size(), context_.output.room(now));
  std::vector<Publication> messages;
  for (std::size_t i = 0; i < room; ++i) {
    const Message& message = pending_.at(numbers[i]).message.message;
    messages.push_back({.ticket = numbers[i],
                        .id = message.id,
                        .key = message.key,
                        .value = message.value,
                        .headers = message.headers});
  }
  // Before the sink gets them, because a report may arrive at once.
  for (std::size_t i = 0; i < room; ++i) hand_over(numbers[i], pending_.at(numbers[i]), Step::kPublish);
  const std::size_t taken = context_.output.publish(messages, *this, now);
  context_.figures.late.add(taken);
  for (std::size_t i = taken; i < numbers.size(); ++i) ask_again(numbers[i], pending_.at(numbers[i]), now + kFullPause);
  if (!HORAE_MUTANT("offset_before_late_report")) return;
  for (std::size_t i = 0; i < taken; ++i) done_.push_back(pending_.at(numbers[i]).record);
}

// ---- What became of publishes ----

void Intake::on_deliveries(std::span<const Delivery> deliveries, MonotonicTime) {
  {
    const std::lock_guard lock(mutex_);
    for (const Delivery& delivery : deliveries) arrived_.push_back({.number = delivery.ticket, .delivery = delivery});
  }
  context_.wake.intake();
}

void Intake::handle_arrived(MonotonicTime now) {
  std::vector<Arrived> arrived;
  {
    const std::lock_guard lock(mutex_);
    arrived.swap(arrived_);
  }
  for (const Arrived& each : arrived) {
    Pending& pending = pending_.at(each.number);
    each.is_letter ? handle_letter(each.number, pending, each.delivery, now)
                   : handle_late(each.number, pending, each.delivery, now);
  }
}

void Intake::handle_letter(Number number, Pending& pending, const Delivery& delivery, MonotonicTime now) {
  if (delivery.end == PublishEnd::kPublished) {
    context_.figures.dead_lettered.add();
    return finish(number);
  }
  if (delivery.end != PublishEnd::kRefused) return ask_again(number, pending, now + back_off(pending));
  if (pending.is_bad) return finish(number);  // it was logged, and there is nowhere to put it
  pending.must_be_stored = true;
  ask_again(number, pending, now);
}

void Intake::handle_late(Number number, Pending& pending, const Delivery& delivery, MonotonicTime now) {
  if (delivery.end == PublishEnd::kPublished) {
    context_.figures.note_fired(now, std::nullopt);
    context_.advance.note(now, delivery.taken);
    return finish(number);
  }
  context_.figures.failed.add();
  if (delivery.end != PublishEnd::kRefused) return ask_again(number, pending, now + back_off(pending));
  if (context_.dead_letters) {
    pending.fault = "the output refuses it";
    return ask_again(number, pending, now);
  }
  pending.must_be_stored = true;
  ask_again(number, pending, now);
}

// ---- Steps of a pending record ----

Duration Intake::back_off(Pending& pending) const {
  const RelayOptions& options = context_.options;
  const int failures = pending.failures++;
  return context_.jittered(
      std::min(options.shortest_back_off * (1 << std::min(failures, 16)), options.longest_back_off));
}

void Intake::hand_over(Number number, Pending& pending, Step step) {
  asking_.erase({pending.ask_at, number});
  pending.step = step;
  const std::lock_guard lock(mutex_);
  ++handed_over_;
}

void Intake::ask_again(Number number, Pending& pending, MonotonicTime when) {
  asking_.erase({pending.ask_at, number});
  if (pending.step != Step::kAsk) {
    const std::lock_guard lock(mutex_);
    --handed_over_;
  }
  pending.step = Step::kAsk;
  pending.ask_at = when;
  asking_.emplace(when, number);
}

void Intake::finish(Number number) {
  done_.push_back(pending_.at(number).record);
  drop(number);
}

void Intake::drop(Number number) {
  const auto found = pending_.find(number);
  asking_.erase({found->second.ask_at, number});
  bytes_ -= found->second.bytes;
  const bool was_handed_over = found->second.step != Step::kAsk;
  pending_.erase(found);
  const std::lock_guard lock(mutex_);
  if (was_handed_over) --handed_over_;
  pending_count_ = pending_.size();
}

void Intake::pass_on_done() {
  if (done_.empty()) return;
  source_.done(done_);
  done_.clear();
}

}  // namespace horae
