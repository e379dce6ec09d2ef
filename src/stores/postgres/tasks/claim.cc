#include "stores/postgres/tasks/claim.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "store/bundle.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/connection/time.h"
#include "stores/postgres/layout/payloads.h"

namespace horae::postgres {
namespace {

const Sql kWaitForOthers = statement("wait_for_others");

constexpr int kMostWaits = 3;
constexpr double kWeightOfNewest = 0.1;

// A statement compares each wish with each range.
constexpr std::size_t kMostWishesOfAHead = 64;

std::int64_t ranges_for(std::int64_t wanted, double ranges_for_a_task) {
  return std::min<std::int64_t>(
      wanted, static_cast<std::int64_t>(std::ceil(static_cast<double>(wanted) * ranges_for_a_task)) + 1);
}

}  // namespace

// ---- A part of a transaction ----

// A wish joins the last statement that takes from one of its queues, if that is for the same queues. So where wishes
// compete, they are served in their order.
void ClaimPart::add(std::size_t place, const std::vector<int>& queues) {
  const auto competes = [&](const Head& head) {
    return std::ranges::any_of(queues, [&](int queue) { return std::ranges::binary_search(head.queues, queue); });
  };
  const auto last = std::ranges::find_if(heads_.rbegin(), heads_.rend(), competes);
  const bool has_rival = last != heads_.rend();
  if (has_rival && last->queues == queues && last->places.size() < kMostWishesOfAHead) {
    last->places.push_back(place);
    return;
  }
  // None may come away short, and be asked for again after its rival.
  if (has_rival) look_.ranges_for_a_task = 1;
  heads_.push_back({.places = {place}, .queues = queues, .looks = {}, .ticket = 0, .taken = {}});
}

HeadWish ClaimPart::wish_of(Head& head, const FreshTasks& fresh) const {
  HeadWish wish;
  std::int64_t wanted = 0;
  for (const std::size_t place : head.places) {
    wish.wishes.push_back(&wishes_[place]);
    wanted += wishes_[place].max;
  }
  wish.most = ranges_for(wanted, look_.ranges_for_a_task);
  head.looks.clear();
  for (const int queue : head.queues) {
    head.looks.push_back(floors_->begin(queue, look_.full));
    const auto made_ready = fresh.made_ready.find(queue);
    wish.queues.push_back(
        {.no = queue,
         .floor = head.looks.back().floor,
         .made_ready = made_ready == fresh.made_ready.end() ? std::nullopt : std::optional(made_ready->second)});
  }
  return wish;
}

void ClaimPart::send(Transaction& transaction, const FreshTasks& fresh) {
  wait_for_tokens(transaction, look_.tokens);
  if (!look_.queues.empty()) {
    transaction.send(kWaitForOthers, Params::of(std::vector<std::int32_t>(look_.queues.begin(), look_.queues.end())));
  }
  for (Head& head : heads_) head.ticket = send_take_head(transaction, wish_of(head, fresh), fresh.beginning);
}

void ClaimPart::read(const Transaction& transaction) {
  for (Head& head : heads_) {
    head.taken = read_taken_head(transaction, head.ticket);
    for (std::size_t i = 0; i < head.queues.size(); ++i) {
      const auto first = std::ranges::find(head.taken.pieces, head.queues[i], &TakenPiece::queue);
      if (first != head.taken.pieces.end()) floors_->end(head.queues[i], head.looks[i], first->rank);
    }
    for (const auto& [queue, rank] : head.taken.left_behind) floors_->lower(queue, rank);
  }
}

// ---- The wishes of one call, round by round ----

class Claiming {
 public:
  Claiming(Claimer& claimer, std::span<const ClaimWish> wishes)
      : claimer_(claimer),
        wishes_(wishes),
        claimed_(wishes.size()),
        standing_(wishes.size(), Standing::kOpen),
        look_{.ranges_for_a_task = claimer.ranges_for_a_task_} {}

  // Those that are to be asked for now, in their order. What comes after a repeated token waits: whether the second wish
  // under it gets something new depends on the first.
  std::vector<std::size_t> places() {
    std::vector<std::size_t> asked;
    std::set<Uuid> tokens;
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      if (standing_[i] != Standing::kOpen) continue;
      if (wishes_[i].once && has_served_.contains(wishes_[i].token)) {
        standing_[i] = Standing::kServed;
      } else if (!wishes_[i].once || tokens.insert(wishes_[i].token).second) {
        asked.push_back(i);
      } else {
        break;
      }
    }
    return asked;
  }

  const ClaimPart::Look& look() const { return look_; }
  bool has_leased() const { return has_leased_; }

  // What a round has brought; its transaction is committed.
  Result<void> take(ClaimPart& part) {
    look_.tokens.clear();
    look_.queues.clear();
    look_.full = false;
    for (const std::size_t place : part.places_) standing_[place] = Standing::kDone;
    std::vector<LeasedTask*> tasks;
    std::vector<Range> again;
    std::size_t ranges = 0;
    for (ClaimPart::Head& head : part.heads_) {
      lease(part, head, again);
      ranges += head.taken.pieces.size();
      decide(part, head);
    }
    for (const std::size_t place : part.places_) {
      for (LeasedTask& task : claimed_[place].tasks) tasks.push_back(&task);
    }
    if (tasks.empty()) return {};
    has_leased_ = true;
    claimer_.note_cost(ranges, tasks.size());
    if (auto filled = claimer_.fill(tasks, again); !filled.ok()) return filled;
    for (const std::size_t place : part.places_) {
      std::erase_if(claimed_[place].tasks, [](const LeasedTask& task) { return task.number == 0; });
      claimer_.known_.remember_ids(claimed_[place].tasks);
    }
    remember_leases(part);
    return {};
  }

  // The outcomes, with what is held under tokens that had served.
  Result<Claimed> finish() {
    std::vector<Uuid> tokens;
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      if (standing_[i] == Standing::kServed) tokens.push_back(wishes_[i].token);
    }
    if (tokens.empty()) return std::move(claimed_);
    std::ranges::sort(tokens);
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    const auto held = find_held(claimer_.pool_, tokens);
    if (!held.ok()) return held.error();
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      if (standing_[i] != Standing::kServed) continue;
      claimed_[i].kind = ClaimOutcome::Kind::kRepeated;
      const auto found = held->find(wishes_[i].token);
      if (found == held->end()) continue;
      if (found->second.owner == wishes_[i].owner) {
        claimed_[i].tasks = found->second.tasks;
      } else {
        claimed_[i].kind = ClaimOutcome::Kind::kOtherOwner;
      }
    }
    return std::move(claimed_);
  }

 private:
  enum class Standing { kOpen, kDone, kServed };

  void lease(const ClaimPart& part, const ClaimPart::Head& head, std::vector<Range>& again) {
    for (const TakenPiece& piece : head.taken.pieces) {
      const std::size_t place = head.places[piece.wish];
      const ClaimWish& wish = wishes_[place];
      if (wish.once) has_served_.insert(wish.token);
      if (piece.attempt > 1) again.push_back(piece.range);
      for (std::int64_t number = piece.range.lo; number <= piece.range.hi; ++number) {
        claimed_[place].tasks.push_back({.number = number,
                                         .queue = part.names_.at(piece.queue),
                                         .attempt = piece.attempt,
                                         .lease_expires = after(head.taken.now, wish.lease)});
      }
    }
  }

  // Which of the wishes are asked for again.
  void decide(const ClaimPart& part, const ClaimPart::Head& head) {
    const TakenHead& taken = head.taken;
    const auto reopen = [&] {
      for (const std::size_t place : head.places) {
        if (claimed_[place].tasks.empty()) standing_[place] = Standing::kOpen;
      }
    };
    if (!taken.ended.empty()) {
      claimer_.names_.forget_numbers(taken.ended);
      if (!std::exchange(has_met_ended_, true)) reopen();
    }
    if (taken.is_put_off) {
      reopen();
    } else if (taken.is_short) {
      look_.ranges_for_a_task = std::min(part.look_.ranges_for_a_task * 4, 1.0);
      reopen();
    } else if (taken.others_hold && waits_ < kMostWaits) {
      // After the wait it looks without the floors: they were wrong, or others held all tasks above them.
      ++waits_;
      look_.queues.insert(head.queues.begin(), head.queues.end());
      look_.full = true;
      reopen();
    } else if (taken.is_empty) {
      for (std::size_t i = 0; i < head.queues.size(); ++i) claimer_.floors_.end(head.queues[i], head.looks[i]);
    }
    for (const std::size_t wish : taken.busy) {
      look_.tokens.push_back(wishes_[head.places[wish]].token);
      standing_[head.places[wish]] = Standing::kOpen;
    }
    for (const std::size_t wish : taken.served) {
      has_served_.insert(wishes_[head.places[wish]].token);
      standing_[head.places[wish]] = Standing::kServed;
    }
  }

  void remember_leases(const ClaimPart& part) {
    for (const ClaimPart::Head& head : part.heads_) {
      for (const TakenPiece& piece : head.taken.pieces) {
        if (piece.is_recurring) continue;
        claimer_.known_.remember_lease(
            {piece.range, piece.queue, piece.attempt, wishes_[head.places[piece.wish]].owner});
      }
    }
  }

  Claimer& claimer_;
  const std::span<const ClaimWish> wishes_;
  Claimed claimed_;
  std::vector<Standing> standing_;
  ClaimPart::Look look_;       // of the next round
  std::set<Uuid> has_served_;  // before, or in this call
  bool has_leased_ = false;
  bool has_met_ended_ = false;
  int waits_ = 0;
};

// ---- Claims ----

Result<ClaimPart> Claimer::part(std::span<const ClaimWish> wishes, const std::vector<std::size_t>& places,
                                ClaimPart::Look look) {
  std::vector<std::string> names;
  for (const std::size_t place : places) {
    names.insert(names.end(), wishes[place].queues.begin(), wishes[place].queues.end());
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto known = names_.find(names);
  if (!known.ok()) return known.error();
  ClaimPart part(floors_, wishes, std::move(look));
  part.places_ = places;
  for (const auto& [name, no] : *known) part.names_[no] = name;
  for (const std::size_t place : places) {
    std::vector<int> queues;
    for (const std::string& name : wishes[place].queues) {
      if (const auto found = known->find(name); found != known->end()) queues.push_back(found->second);
    }
    std::ranges::sort(queues);
    // A token is looked up, whatever queues come with it.
    if (!queues.empty() || wishes[place].once) part.add(place, queues);
  }
  return part;
}

Result<ClaimPart> Claimer::part(std::span<const ClaimWish> wishes) {
  Claiming claiming(*this, wishes);
  return part(wishes, claiming.places(), claiming.look());
}

Result<Claimed> Claimer::claim(std::span<const ClaimWish> wishes) {
  auto first = part(wishes);
  if (!first.ok()) return first.error();
  if (auto ran = run(*first); !ran.ok()) return ran.error();
  return finish(wishes, std::move(*first));
}

// In a transaction of its own.
Result<void> Claimer::run(ClaimPart& part) {
  if (part.empty()) return {};
  const auto ran = pool_.transact_in_one_trip<bool>([&](Transaction& transaction) -> Result<bool> {
    part.send(transaction, {});
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    part.read(transaction);
    return true;
  });
  if (!ran.ok()) return ran.error();
  return {};
}

// After tasks were leased, only kUnavailable says that the outcome is not known: leases_of() finds them by the token.
Result<Claimed> Claimer::finish(std::span<const ClaimWish> wishes, ClaimPart part) {
  Claiming claiming(*this, wishes);
  const auto failed = [&](const Error& error) { return claiming.has_leased() ? unknown_outcome(error) : error; };
  for (;;) {
    if (auto taken = claiming.take(part); !taken.ok()) return failed(taken.error());
    const auto places = claiming.places();
    if (places.empty()) break;
    auto next = this->part(wishes, places, claiming.look());
    if (!next.ok()) return failed(next.error());
    if (auto ran = run(*next); !ran.ok()) return failed(ran.error());
    part = std::move(*next);
  }
  auto claimed = claiming.finish();
  if (!claimed.ok()) return failed(claimed.error());
  return claimed;
}

void Claimer::note_cost(std::size_t ranges, std::size_t tasks) {
  const double cost = static_cast<double>(ranges) / static_cast<double>(tasks);
  ranges_for_a_task_ = ranges_for_a_task_ * (1 - kWeightOfNewest) + cost * kWeightOfNewest;
}

// What the tasks carry: what is not cached is read. `again`: those that had an attempt before, and so may have a
// checkpoint. The number of a task whose row is gone (it was cancelled and purged meanwhile) becomes 0.
Result<void> Claimer::fill(std::vector<LeasedTask*> tasks, const std::vector<Range>& again) {
  auto unknown = known_.fill(tasks);
  if (unknown.empty() && again.empty()) return {};
  using Numbers = std::unordered_set<std::int64_t>;
  const auto found = pool_.look<Numbers>([&](Transaction& transaction) -> Result<Numbers> {
    const Payloads payloads(transaction, unknown, again);
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    std::unordered_map<std::int64_t, LeasedTask*> by_number;
    for (LeasedTask* task : tasks) by_number[task->number] = task;
    payloads.fill(by_number);
    return payloads.found();
  });
  if (!found.ok()) return found.error();
  Numbers gone(unknown.begin(), unknown.end());
  std::erase_if(gone, [&](std::int64_t number) { return found->contains(number); });
  for (LeasedTask* task : tasks) {
    if (gone.contains(task->number)) task->number = 0;
  }
  return {};
}

}  // namespace horae::postgres
