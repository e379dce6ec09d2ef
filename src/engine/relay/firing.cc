#include "engine/relay/firing.h"

#include <algorithm>

#include "base/mutant.h"

namespace horae {
namespace {

constexpr std::size_t kGulp = 1'000;                               // messages handed over at once
constexpr Duration kPause = std::chrono::milliseconds(1);          // between two gulps
constexpr Duration kFullPause = std::chrono::milliseconds(5);      // after the sink's queue was full
constexpr Duration kStalledPause = std::chrono::milliseconds(50);  // while the sink is stalled
constexpr Duration kIdle = std::chrono::seconds(1);
constexpr std::size_t kMostFailures = 50'000;  // messages whose failures are counted

// Moves the content, and back again.
Publication take_out(HoldId id, Message& message) {
  return {.ticket = id,
          .id = std::move(message.id),
          .key = std::move(message.key),
          .value = std::move(message.value),
          .headers = std::move(message.headers)};
}
void put_back(Publication& publication, Message& message) {
  message.id = std::move(publication.id);
  message.key = std::move(publication.key);
  message.value = std::move(publication.value);
  message.headers = std::move(publication.headers);
}

}  // namespace

// ---- Back-off ----

Duration Firing::BackOff::next(RelayContext& context, const std::string& id) {
  if (failures_.size() >= kMostFailures) failures_.clear();
  const int failures = failures_[id]++;
  const RelayOptions& options = context.options;
  const Duration mean = options.shortest_back_off * (1 << std::min(failures, 16));
  return context.jittered(std::min(mean, options.longest_back_off));
}

void Firing::BackOff::forget(const std::string& id) {
  if (!failures_.empty()) failures_.erase(id);
}

// ---- What comes ----

void Firing::add(std::vector<ReadiedMessage> readied) {
  if (readied.empty()) return;
  std::vector<Held> held = context_.holdings.add(std::move(readied));
  {
    const std::lock_guard lock(mutex_);
    for (Held& each : held) {
      const Instant due = each.readied.due;
      shots_.emplace(std::pair(due, each.id), Shot{.id = each.id, .readied = std::move(each.readied)});
    }
  }
  context_.wake.firing();
}

void Firing::drain() {
  {
    const std::lock_guard lock(mutex_);
    is_draining_ = true;
  }
  context_.wake.firing();
}

std::size_t Firing::waiting() const {
  const std::lock_guard lock(mutex_);
  return shots_.size();
}

// ---- The loop ----

MonotonicTime Firing::run_once(MonotonicTime now) {
  context_.output.collect(now);
  if (context_.dead_letters) context_.dead_letters->collect(now);
  give_back_undue(now);
  give_back_old(now);
  const MonotonicTime next = hand_over(now);
  if (context_.holdings.unsettled() >= context_.options.batch) context_.wake.turn();
  return next;
}

MonotonicTime Firing::fires_at(const Shot& shot, Duration advance) const {
  const Instant target = shot.readied.due - std::chrono::floor<std::chrono::microseconds>(advance);
  // The answer that readied it was a sample, so there is one.
  return context_.store_clock.surely_after(target).value_or(MonotonicTime::max());
}

// The hold counts from the later of readied_at and due - advance, as for the node that may take over.
bool Firing::is_over(const Shot& shot, Duration advance, MonotonicTime now) const {
  const Instant target = shot.readied.due - std::chrono::floor<std::chrono::microseconds>(advance);
  const auto began = context_.store_clock.surely_before(std::max(shot.readied.readying.readied_at, target));
  return began && now > *began + context_.options.latest_hand_over() && !HORAE_MUTANT("fires_after_hold");
}

std::vector<Firing::Shot> Firing::take_due(MonotonicTime now, std::size_t most) {
  std::vector<Shot> due;
  const Duration advance = context_.advance.value();
  const std::lock_guard lock(mutex_);
  while (!shots_.empty() && due.size() < most && fires_at(shots_.begin()->second, advance) <= now) {
    due.push_back(std::move(shots_.extract(shots_.begin()).mapped()));
  }
  return due;
}

MonotonicTime Firing::hand_over(MonotonicTime now) {
  const std::size_t room = std::min(context_.output.room(now), kGulp);
  const bool is_stalled = room < kGulp;
  std::vector<Shot> due = take_due(now, room);
  std::vector<Publication> messages;
  messages.reserve(due.size());
  for (Shot& shot : due) messages.push_back(take_out(shot.id, shot.readied.message));
  const std::size_t taken = context_.output.publish(messages, *this, now);
  for (std::size_t i = 0; i < taken && HORAE_MUTANT("removed_before_report"); ++i) context_.holdings.fired(due[i].id);
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = taken; i < due.size(); ++i) {
      put_back(messages[i], due[i].readied.message);
      shots_.emplace(std::pair(due[i].readied.due, due[i].id), std::move(due[i]));
    }
  }
  if (taken < due.size()) return now + kFullPause;
  if (is_stalled) return now + kStalledPause;
  if (due.size() == kGulp) return now;
  const std::lock_guard lock(mutex_);
  if (shots_.empty()) return now + kIdle;
  return std::clamp(fires_at(shots_.begin()->second, context_.advance.value()), now + kPause, now + kIdle);
}

void Firing::give_back_undue(MonotonicTime now) {
  const Duration advance = context_.advance.value();
  std::vector<HoldId> undue;
  {
    const std::lock_guard lock(mutex_);
    if (!is_draining_ || HORAE_MUTANT("stop_keeps_undue")) return;
    std::erase_if(shots_, [&](const auto& each) {
      if (fires_at(each.second, advance) <= now) return false;
      undue.push_back(each.second.id);
      return true;
    });
  }
  for (const HoldId id : undue) context_.holdings.give_back(id, {});
  if (!undue.empty()) context_.wake.turn();
}

void Firing::give_back_old(MonotonicTime now) {
  const Duration advance = context_.advance.value();
  std::vector<HoldId> old;
  {
    const std::lock_guard lock(mutex_);
    for (auto shot = shots_.begin(); shot != shots_.end() && fires_at(shot->second, advance) <= now;) {
      if (!is_over(shot->second, advance, now)) {
        ++shot;
        continue;
      }
      old.push_back(shot->second.id);
      shot = shots_.erase(shot);
    }
  }
  if (old.empty()) return;
  for (const HoldId id : old) context_.holdings.give_back(id, {});
  context_.wake.turn();
  if (const auto suppressed = log_limit_.next(now)) {
    context_.log.warn("gave back messages that could not be published in time",
                      {{"count", old.size()}, {"suppressed_lines", *suppressed}});
  }
}

// ---- Reports ----

void Firing::on_deliveries(std::span<const Delivery> deliveries, MonotonicTime now) {
  for (const Delivery& delivery : deliveries) {
    const HoldId id = delivery.ticket;
    if (HORAE_MUTANT("removed_before_report")) continue;
    if (delivery.end == PublishEnd::kPublished) {
      note_published(id, delivery, now);
      context_.holdings.fired(id);
    } else if (HORAE_MUTANT("failed_report_is_success")) {
      context_.holdings.fired(id);
    } else if (delivery.end == PublishEnd::kRefused) {
      context_.figures.failed.add();
      if (const auto suppressed = log_limit_.next(now)) {
        context_.log.error("the output refuses a message for good", {{"message", context_.holdings.get(id).first.id},
                                                                     {"reason", delivery.reason},
                                                                     {"suppressed_lines", *suppressed}});
      }
      context_.holdings.refused(id);
      context_.wake.turn();
    } else {
      const std::string message = context_.holdings.get(id).first.id;
      context_.figures.failed.add();
      context_.holdings.give_back(id, back_off_.next(context_, message), delivery.end == PublishEnd::kUnknown);
      if (const auto suppressed = log_limit_.next(now)) {
        context_.log.warn("cannot publish a message; it is tried again",
                          {{"message", message}, {"reason", delivery.reason}, {"suppressed_lines", *suppressed}});
      }
    }
  }
}

void Firing::note_published(HoldId id, const Delivery& delivery, MonotonicTime now) {
  const auto [readying, deadline] = context_.holdings.get(id);
  back_off_.forget(readying.id);
  context_.advance.note(now, delivery.taken);
  const auto store_now = context_.store_clock.estimate(now);
  // As late as a status can show; farther deadlines do not fit into a Duration.
  constexpr std::chrono::microseconds kMost = std::chrono::hours(24 * 365);
  if (store_now)
    context_.figures.note_fired(now, std::clamp(std::chrono::microseconds(*store_now - deadline), -kMost, kMost));
}

}  // namespace horae
