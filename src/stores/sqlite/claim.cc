#include "stores/sqlite/claim.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/mutant.h"
#include "stores/sqlite/statements.h"

namespace horae::sqlite {
namespace {

// The head of one queue while several are merged.
struct Head {
  Statement* rows = nullptr;
  QueueRow queue;
  std::size_t place = 0;
};

}  // namespace

Claimer::Claimer(Writer& writer)
    : writer_(writer),
      lease_(writer.database(), statement("claim_lease")),
      payload_(writer.database(), statement("claim_payload")),
      checkpoint_(writer.database(), statement("claim_checkpoint")),
      has_served_(writer.database(), statement("claim_has_served")),
      note_served_(writer.database(), statement("claim_note_served")),
      of_token_(writer.database(), statement("claim_of_token")) {
  const std::string_view heads = statement("claim_heads");
  for (std::size_t i = 0; i < kMaxQueuesOfAClaim; ++i) heads_.emplace_back(writer.database(), heads);
}

std::vector<ClaimOutcome> Claimer::claim(std::span<const ClaimWish> wishes, Change& change) {
  std::vector<ClaimOutcome> outcomes;
  if (wishes.empty()) return outcomes;
  const bool is_stopped = writer_.scheduler_stopped();
  for (const ClaimWish& wish : wishes) outcomes.push_back(claim_one(wish, is_stopped, change));
  return outcomes;
}

ClaimOutcome Claimer::claim_one(const ClaimWish& wish, bool is_stopped, Change& change) {
  if (wish.once && has_served(wish.token)) return repeated(wish);
  ClaimOutcome outcome;
  if (is_stopped) return outcome;
  std::size_t bytes = 0;
  for (const Candidate& chosen : choose(wish, change)) {
    outcome.tasks.push_back(lease(chosen, wish, change));
    const LeasedTask& task = outcome.tasks.back();
    bytes += task.spec.size() + (task.checkpoint ? task.checkpoint->size() : 0);
    if (bytes >= kMaxClaimBytes) break;  // further tasks would only be given back
  }
  const bool serves = wish.once && !outcome.tasks.empty();
  if (serves && !HORAE_MUTANT("token_serves_twice")) note_served_.run(wish.token, change.now());
  return outcome;
}

bool Claimer::has_served(const Uuid& token) {
  const bool has = has_served_.start(token).next();
  has_served_.finish();
  return has;
}

ClaimOutcome Claimer::repeated(const ClaimWish& wish) {
  ClaimOutcome outcome{.kind = ClaimOutcome::Kind::kRepeated, .tasks = {}};
  std::vector<LeasedTask>& tasks = outcome.tasks;
  of_token_.start(wish.token);
  while (of_token_.next()) {
    if (of_token_.text(5) != wish.owner) {
      of_token_.finish();
      return {.kind = ClaimOutcome::Kind::kOtherOwner, .tasks = {}};
    }
    tasks.push_back({.number = of_token_.integer(0),
                     .queue = of_token_.text(1),
                     .attempt = of_token_.small(2),
                     .lease_expires = of_token_.instant(3)});
    read_payload(tasks.back(), of_token_.small(4) != 0);
  }
  return outcome;
}

std::vector<Claimer::Candidate> Claimer::choose(const ClaimWish& wish, const Change& change) {
  std::vector<Head> heads;
  std::vector<std::optional<Candidate>> fronts;
  const auto advance = [&](Head& head) -> std::optional<Candidate> {
    if (!head.rows->next()) return std::nullopt;
    const auto points = effective_priority(head.queue.ageing, head.rows->integer(1), change.now_second());
    return Candidate{.number = head.rows->integer(0),
                     .queue = head.queue.no,
                     .queue_place = head.place,
                     .effective_priority = points,
                     .ready_second = head.rows->integer(2),
                     .attempt = head.rows->small(3),
                     .has_checkpoint = head.rows->small(4) != 0};
  };
  for (std::size_t place = 0; place < wish.queues.size(); ++place) {
    const auto queue = writer_.find_queue(wish.queues[place]);
    if (!queue || (queue->paused && !HORAE_MUTANT("paused_queues_give"))) continue;
    heads.push_back({&heads_[place].start(queue->no, wish.max), *queue, place});
    fronts.push_back(advance(heads.back()));
  }

  // The most urgent of the fronts, again and again. Nothing is changed meanwhile: the rows are being read.
  const auto key = [](const std::optional<Candidate>& front) {
    return front ? std::tuple(0, -front->effective_priority, front->ready_second, front->number)
                 : std::tuple(1, std::int64_t{0}, std::int64_t{0}, std::int64_t{0});
  };
  std::vector<Candidate> chosen;
  while (chosen.size() < static_cast<std::size_t>(wish.max) && !fronts.empty()) {
    const auto first =
        std::min_element(fronts.begin(), fronts.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    if (!*first) break;
    chosen.push_back(**first);
    *first = advance(heads[static_cast<std::size_t>(first - fronts.begin())]);
  }
  for (const Head& head : heads) head.rows->finish();
  return chosen;
}

LeasedTask Claimer::lease(const Candidate& chosen, const ClaimWish& wish, Change& change) {
  LeasedTask task{.number = chosen.number,
                  .queue = wish.queues[chosen.queue_place],
                  .attempt = chosen.attempt + 1,
                  .lease_expires = change.after(wish.lease)};
  if (!HORAE_MUTANT("two_claims_of_one_task")) {
    lease_.run(wish.owner, wish.token, wish.lease, task.lease_expires, change.now(), chosen.number, chosen.attempt);
  }
  change.moved(chosen.queue, State::kReady, State::kRunning);
  read_payload(task, chosen.has_checkpoint);
  return task;
}

void Claimer::read_payload(LeasedTask& task, bool has_checkpoint) {
  if (payload_.start(task.number).next()) {
    task.id = payload_.uuid(0);
    task.priority = payload_.small(1);
    task.spec = payload_.text(2);
    payload_.finish();
  }
  if (has_checkpoint && checkpoint_.start(task.number).next()) {
    task.checkpoint = checkpoint_.text(0);
    checkpoint_.finish();
  }
}

}  // namespace horae::sqlite
