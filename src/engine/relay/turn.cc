#include "engine/relay/turn.h"

#include <algorithm>
#include <utility>

#include "base/time_text.h"

namespace horae {
namespace {

constexpr Duration kIdle = std::chrono::minutes(1);  // only a defect in the wake-ups makes such a pass find anything
constexpr Duration kDrainPause = std::chrono::milliseconds(10);
constexpr Duration kShortestRetry = std::chrono::milliseconds(100);
constexpr int kLongestRetry =
    2;  // doublings: far below the hold time, in which all that was published has to be removed

}  // namespace

void Turn::drain() {
  is_draining_ = true;
  context_.wake.turn();
}

MonotonicTime Turn::run_once(MonotonicTime now) {
  const auto retry = [&] {
    return now + context_.jittered(kShortestRetry * (1 << std::min(failures_++, kLongestRetry)));
  };
  if (!resolve()) return retry();
  dead_letter_refused(now);
  const auto outcome = settle_and_ready(now);
  if (!outcome) return retry();
  failures_ = 0;
  is_behind_ = outcome->next_in && *outcome->next_in < -kBehind;
  context_.is_idle = !outcome->has_rows && context_.holdings.is_empty();
  if (context_.is_idle) return now + kIdle;
  context_.wake.recovery();
  return next_run(now, was_full_, *outcome);
}

// ---- Lost answers ----

bool Turn::resolve() {
  if (!context_.holdings.may_resolve()) return true;
  // A learnt advance may have been longer when they were readied.
  HeldWish wish{.delay_queue = context_.options.queue,
                .node = context_.node,
                .advance = context_.advance.longest(),
                .horizon = context_.options.horizon,
                .limits = {.max = context_.options.batch, .max_bytes = context_.options.batch_bytes}};
  do {
    auto page = context_.timed([&] { return context_.store.held_by(wish); });
    if (!page.ok()) {
      note_failure("cannot read which messages this node holds", page.error(), context_.clock.now());
      return false;
    }
    wish.after = page->next;
    firing_.add(std::move(page->messages));
  } while (wish.after);
  context_.holdings.end_resolving();
  return true;
}

// ---- Messages that the output refuses ----

void Turn::dead_letter_refused(MonotonicTime now) {
  const std::vector<HoldId> refused = context_.holdings.take_refused(context_.options.batch);
  if (refused.empty()) return;
  std::vector<std::string> ids;
  for (const HoldId id : refused) ids.push_back(context_.holdings.get(id).first.id);
  auto stored = context_.store.get(context_.options.queue, ids);
  for (std::size_t i = 0; i < refused.size(); ++i) {
    const auto* message = stored.ok() && (*stored)[i] ? &(*stored)[i]->message : nullptr;
    const bool is_held = message != nullptr && (*stored)[i]->readying == context_.holdings.get(refused[i]).first;
    if (is_held) {
      dead_letter(refused[i], *message, now);
    } else {
      // The store is away, or another node has taken it over: the next turn finds out.
      context_.holdings.give_back(refused[i], context_.options.longest_back_off);
    }
  }
}

void Turn::dead_letter(HoldId id, const Message& message, MonotonicTime now) {
  if (!context_.dead_letters) {
    return end_refused(
        id, {.ticket = id, .end = PublishEnd::kRefused, .reason = "this delay queue has no dead_letter topic"}, now);
  }
  Publication letter{
      .ticket = id, .id = message.id, .key = message.key, .value = message.value, .headers = message.headers};
  letter.headers.push_back({context_.options.headers.id, message.id});
  letter.headers.push_back({context_.options.headers.deadline, format_instant(message.deadline)});
  context_.dead_letters->publish(
      std::move(letter),
      {.reason = "the output refuses it", .delay_queue = context_.options.queue, .topic = {}, .place = {}}, now,
      [this, id](const Delivery& delivery, MonotonicTime then) { end_refused(id, delivery, then); });
}

void Turn::end_refused(HoldId id, const Delivery& delivery, MonotonicTime now) {
  const std::string message = context_.holdings.get(id).first.id;
  if (delivery.end == PublishEnd::kPublished) {
    context_.figures.dead_lettered.add();
    context_.log.error("the output refuses a message; it is dead-lettered", {{"message", message}});
    return context_.holdings.fired(id);
  }
  context_.holdings.give_back(id, context_.options.refused_back_off);
  if (const auto suppressed = log_limit_.next(now)) {
    context_.log.error("the output refuses a message; it stays in the store and is tried each minute",
                       {{"message", message}, {"reason", delivery.reason}, {"suppressed_lines", *suppressed}});
  }
}

// ---- The turn ----

ReadyLimits Turn::limits(MonotonicTime now) {
  ReadyLimits limits = context_.holdings.room();
  limits.max = std::min(limits.max, context_.options.batch);
  limits.max_bytes = std::min(limits.max_bytes, context_.options.batch_bytes);
  if (context_.output.is_stalled(now)) {
    limits.max = std::min(limits.max, Publisher::kProbes - std::min(context_.holdings.size(), Publisher::kProbes));
  }
  return limits;
}

std::optional<TurnOutcome> Turn::settle_and_ready(MonotonicTime now) {
  const TurnWork work = context_.holdings.next_work(context_.options.batch);
  ReadyLimits ready = limits(now);
  const bool readies = ready.max > 0 && context_.holdings.begin_readying();
  if (!readies) ready = {};
  auto outcome = context_.timed([&] {
    return context_.store.turn({.delay_queue = context_.options.queue,
                                .node = context_.node,
                                .advance = context_.advance.value(),
                                .horizon = context_.options.horizon,
                                .fired = work.fired,
                                .failed = work.failed,
                                .ready = ready});
  });
  if (!outcome.ok()) {
    if (readies) context_.holdings.end_readying(true);
    context_.holdings.note_asked(work);
    note_failure("cannot ready messages", outcome.error(), now);
    return std::nullopt;
  }
  note_gone(work, outcome->removed, now);
  context_.holdings.forget(work);
  was_full_ = work.fired.size() == context_.options.batch || work.failed.size() == context_.options.batch ||
              (readies && outcome->readied.size() == context_.options.batch) || has_more_than_bytes(ready, *outcome);
  firing_.add(std::move(outcome->readied));
  if (readies) context_.holdings.end_readying(false);
  return std::move(*outcome);
}

// The limit of bytes, and nothing else, cut the batch short.
bool Turn::has_more_than_bytes(const ReadyLimits& ready, const TurnOutcome& outcome) const {
  return !outcome.readied.empty() && outcome.readied.size() < ready.max && outcome.next_in &&
         *outcome.next_in <= context_.options.horizon &&
         context_.holdings.room().max_bytes > context_.options.batch_bytes;
}

void Turn::note_gone(const TurnWork& work, const std::vector<bool>& removed, MonotonicTime now) {
  for (std::size_t i = 0; i < removed.size(); ++i) {
    if (removed[i] || work.was_asked[i]) continue;
    context_.figures.gone.add();
    if (const auto suppressed = log_limit_.next(now)) {
      context_.log.warn("a fired message is gone: another node took it over",
                        {{"message", work.fired[i].id}, {"suppressed_lines", *suppressed}});
    }
  }
}

void Turn::note_failure(std::string_view what, const Error& error, MonotonicTime now) {
  if (const auto suppressed = log_limit_.next(now)) {
    context_.log.warn(what, {{"reason", error.message}, {"suppressed_lines", *suppressed}});
  }
}

MonotonicTime Turn::next_run(MonotonicTime began, bool is_full, const TurnOutcome& outcome) {
  if (is_full) return began;
  if (is_draining_) return began + kDrainPause;
  const RelayOptions& options = context_.options;
  Duration wait = context_.jittered(options.poll_interval);
  // With a horizon that is shorter than the pause, the next message must not wait for the whole of it.
  if (outcome.next_in && options.horizon < 2 * options.poll_interval) {
    wait = std::min(wait, std::max(*outcome.next_in - options.horizon, options.poll_interval / 10));
  }
  return began + wait;
}

}  // namespace horae
