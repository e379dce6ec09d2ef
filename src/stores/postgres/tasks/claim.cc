#include "stores/postgres/tasks/claim.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "store/bundle.h"
#include "stores/postgres/connection/statements.h"
#include "stores/postgres/connection/time.h"
#include "stores/postgres/layout/payloads.h"
#include "stores/postgres/tasks/heads.h"
#include "stores/postgres/tasks/once.h"

namespace horae::postgres {
namespace {

const Sql kLockHeads = statement("lock_heads");
const Sql kWaitForOthers = statement("wait_for_others");
const Sql kIsAnyReady = statement("is_any_ready");
const Sql kStillOpen = statement("still_open");

std::optional<std::int16_t> highest(const FreshTasks& fresh, int queue) {
  const auto found = fresh.made_ready.find(queue);
  return found == fresh.made_ready.end() ? std::nullopt : std::optional(found->second);
}

constexpr int kMostWaits = 3;
constexpr int kMostClosings = 3;  // how often a claim is tried while queues are paused under its hands
constexpr double kWeightOfNewest = 0.1;

}  // namespace

// ---- The head of one queue, for one wish ----

class Claimer::HeadPart final : public ClaimPart {
 public:
  HeadPart(Claimer& claimer, Wanted wanted) : claimer_(claimer), wanted_(std::move(wanted)) {}

  std::optional<int> only_queue() const override { return queue(); }

  void send(Transaction& transaction, const FreshTasks& fresh) override {
    look_ = claimer_.floors_.begin(queue());
    ticket_ = send_take_head(transaction,
                             {.wish = &wish(),
                              .queue = queue(),
                              .floor = look_.floor,
                              .most = claimer_.ranges_for(wish().max),
                              .made_ready = highest(fresh, queue())},
                             fresh.beginning);
  }

  void read(const Transaction& transaction) override {
    taken_ = read_taken_head(transaction, ticket_);
    if (!taken_.ranges.empty()) claimer_.floors_.end(queue(), look_, taken_.ranges.front().rank);
    for (const std::int64_t rank : taken_.left_behind) claimer_.floors_.lower(queue(), rank);
  }

  Result<std::optional<Claimed>> finish() override {
    if (taken_.ranges.empty()) return std::optional<Claimed>();
    std::vector<LeasedTask> tasks = leased_tasks();
    std::vector<Range> again;
    for (const TakenRange& each : taken_.ranges) {
      if (each.attempt > 1) again.push_back(each.range);
    }
    const auto unknown = claimer_.known_.fill(tasks);
    if (!unknown.empty() || !again.empty()) {
      if (auto read = claimer_.read_payloads(tasks, unknown, again); !read.ok()) return read.error();
    }
    claimer_.known_.remember_ids(tasks);
    for (const TakenRange& each : taken_.ranges) {
      if (!each.is_recurring) claimer_.known_.remember_lease({each.range, each.attempt, wish().owner});
    }
    claimer_.note_cost(taken_.ranges.size(), tasks.size());
    Claimed claimed(1);
    claimed[0].tasks = std::move(tasks);
    return std::optional(std::move(claimed));
  }

 private:
  const ClaimWish& wish() const { return wanted_.wishes[0]; }
  int queue() const { return wanted_.queues[0][0]; }

  std::vector<LeasedTask> leased_tasks() const {
    std::vector<LeasedTask> tasks;
    tasks.reserve(static_cast<std::size_t>(wish().max));
    for (const TakenRange& each : taken_.ranges) {
      for (std::int64_t number = each.range.lo; number <= each.range.hi; ++number) {
        tasks.push_back({.number = number,
                         .queue = wanted_.names.at(queue()),
                         .attempt = each.attempt,
                         .lease_expires = after(taken_.now, wish().lease)});
      }
    }
    return tasks;
  }

  Claimer& claimer_;
  const Wanted wanted_;
  Floors::Look look_;
  std::size_t ticket_ = 0;
  TakenHead taken_;
};

// ---- Any wishes ----

class Claimer::SharedPart final : public ClaimPart {
 public:
  // `may_wait`: for transactions that hold all that is ready. Not in a transaction that holds locks already.
  SharedPart(Claimer& claimer, Wanted wanted, bool may_wait)
      : claimer_(claimer), wanted_(std::move(wanted)), may_wait_(may_wait) {}

  std::optional<int> only_queue() const override { return std::nullopt; }

  void send(Transaction& transaction, const FreshTasks& fresh) override {
    reset();
    once_.emplace(transaction, wanted_.wishes);
    for (std::size_t i = 0; i < wanted_.wishes.size(); ++i) {
      if (!once_->has_served(wanted_.wishes[i])) open_[i] = wanted_.queues[i];
      for (const int queue : open_[i]) heads_[queue].wanted += wanted_.wishes[i].max;
    }
    const auto given = share_out(transaction, fresh);
    const auto [gone, rest] = what_is_left(heads_);
    std::vector<std::int64_t> unknown;
    for (std::size_t i = 0; i < wanted_.wishes.size(); ++i) lease(i, given[i], unknown);
    claimer_.has_found_ = !leases_.empty();
    if (leases_.empty()) return;
    delete_ready(transaction, gone);
    insert_ready(transaction, rest);
    once_->note_served(wanted_.wishes, claimed_);
    rest_ = rest;
    payloads_.emplace(transaction, std::move(unknown), again_);
    transaction.send(kStillOpen, Params::of(queues_of_leases()));
    begun_ = insert_running(transaction, leases_);
  }

  void read(const Transaction& transaction) override {
    if (!leases_.empty()) {
      LeaseEnds ends;
      ends.read(transaction, begun_);
      for (auto& [number, task] : tasks_) task->lease_expires = ends.of(number).value_or(task->lease_expires);
      payloads_->fill(tasks_);
      for (const ReadyRange& ready : rest_) claimer_.floors_.lower(ready.life.queue, ready.rank);
    }
    cache_leases();
    once_->fill(wanted_.wishes, claimed_);
    payloads_.reset();
    once_.reset();
  }

  // Queues that had ended: their names may have other numbers now.
  const std::set<int>& ended() const { return ended_; }

  Result<std::optional<Claimed>> finish() override {
    if (!ended_.empty()) claimer_.names_.forget_numbers({ended_.begin(), ended_.end()});
    const bool got_nothing = std::ranges::all_of(
        claimed_, [](const ClaimOutcome& each) { return each.kind == ClaimOutcome::Kind::kNew && each.tasks.empty(); });
    return got_nothing ? std::optional<Claimed>() : std::optional(std::move(claimed_));
  }

 private:
  void reset() {
    open_.assign(wanted_.wishes.size(), {});
    heads_.clear();
    ended_.clear();
    leases_.clear();
    again_.clear();
    rest_.clear();
    tasks_.clear();
    payloads_.reset();
    claimed_.assign(wanted_.wishes.size(), {});
  }

  void cache_leases() {
    if (leases_.empty()) return;
    for (const ClaimOutcome& each : claimed_) claimer_.known_.remember_ids(each.tasks);
    for (const RunningRange& lease : leases_) {
      if (!lease.life.recurring) claimer_.known_.remember_lease({lease.life.range, lease.life.attempt, lease.owner});
    }
    claimer_.note_cost(leases_.size(), tasks_.size());
  }

  std::vector<std::int32_t> queues_of_leases() const {
    std::set<std::int32_t> queues;
    for (const RunningRange& lease : leases_) queues.insert(lease.life.queue);
    return {queues.begin(), queues.end()};
  }

  using Given = std::vector<GivenTask>;

  std::vector<Given> share_out(Transaction& transaction, const FreshTasks& fresh);
  bool lock_heads(Transaction& transaction, const FreshTasks& fresh, double ranges_for_a_task, bool full);
  bool wait_for_others(Transaction& transaction);
  void note_floors(const std::vector<std::int32_t>& queues, const std::vector<Floors::Look>& looks,
                   const std::set<int>& open);
  void lease(std::size_t place, const Given& given, std::vector<std::int64_t>& unknown);

  Claimer& claimer_;
  const Wanted wanted_;
  const bool may_wait_;
  Instant now_;
  std::optional<OnceTokens> once_;      // while the transaction lasts
  std::vector<std::vector<int>> open_;  // the queues from which each wish may get new tasks
  Heads heads_;
  std::set<int> ended_;
  std::vector<RunningRange> leases_;
  Tickets begun_;                 // of leases_, for LeaseEnds
  std::vector<Range> again_;      // that had an attempt before
  std::vector<ReadyRange> rest_;  // of ranges that gave tasks
  Claimed claimed_;
  std::unordered_map<std::int64_t, LeasedTask*> tasks_;  // in claimed_, by number
  std::optional<Payloads> payloads_;
};

// What each wish gets.
std::vector<Claimer::SharedPart::Given> Claimer::SharedPart::share_out(Transaction& transaction,
                                                                       const FreshTasks& fresh) {
  if (heads_.empty()) return std::vector<Given>(wanted_.wishes.size());
  double guess = claimer_.ranges_for_a_task_;
  int waits = 0;
  for (;;) {
    // After a wait it looks without the floors: they were wrong, or other transactions held all tasks above them.
    if (!lock_heads(transaction, fresh, guess, waits > 0)) return std::vector<Given>(wanted_.wishes.size());
    std::vector<Given> given;
    std::set<Uuid> served;
    for (std::size_t i = 0; i < wanted_.wishes.size(); ++i) {
      const ClaimWish& wish = wanted_.wishes[i];
      const bool is_closed = wish.once && served.contains(wish.token);
      given.push_back(is_closed ? Given()
                                : give(heads_, open_[i], static_cast<std::size_t>(wish.max), second_of(now_)));
      if (wish.once && !given[i].empty()) served.insert(wish.token);
    }

    // The next best task may be in a queue whose locked ranges ran out: again, with more of them.
    if (std::ranges::any_of(heads_, [](const auto& head) { return head.second.is_short(); })) {
      guess = std::min(guess * 4, 1.0);
      continue;
    }
    // It waits only while it holds no ranges, so that it cannot deadlock.
    const bool got_nothing = std::ranges::all_of(given, [](const auto& each) { return each.empty(); });
    if (!got_nothing || !may_wait_ || waits++ == kMostWaits || !wait_for_others(transaction)) return given;
  }
}

// Locks about as many ranges as the wishes need. False after a failure.
bool Claimer::SharedPart::lock_heads(Transaction& transaction, const FreshTasks& fresh, double ranges_for_a_task,
                                     bool full) {
  std::vector<std::int32_t> queues;
  std::vector<std::int64_t> floors, most;
  std::vector<std::optional<std::int16_t>> priorities;
  std::vector<Floors::Look> looks;
  for (auto& [no, head] : heads_) {
    looks.push_back(claimer_.floors_.begin(no, full));
    queues.push_back(no);
    floors.push_back(looks.back().floor);
    most.push_back(ranges_for(head.wanted, ranges_for_a_task));
    priorities.push_back(highest(fresh, no));
    head.ranges.clear();
  }
  const Rows rows = transaction.run(kLockHeads, Params::of(queues, floors, most, Floors::kNone, priorities));
  if (transaction.failed()) return false;
  std::set<int> open;  // neither paused nor stopped
  for (const Row row : rows) {
    now_ = row.instant(0);
    if (row.is_null(1)) {
      ended_.insert(row.small(18));
      continue;
    }
    open.insert(row.small(1));
    Head& head = heads_[row.small(1)];
    head.ageing = {.base = row.integer(2), .rate = row.integer(3), .since = row.integer(4)};
    if (!row.is_null(5)) head.ranges.push_back(read_ready(row, 5));
  }
  for (std::size_t i = 0; i < queues.size(); ++i) {
    Head& head = heads_[queues[i]];
    head.is_all = static_cast<std::int64_t>(head.ranges.size()) < most[i];
    head.begin();
  }
  note_floors(queues, looks, open);
  return true;
}

void Claimer::SharedPart::note_floors(const std::vector<std::int32_t>& queues, const std::vector<Floors::Look>& looks,
                                      const std::set<int>& open) {
  for (std::size_t i = 0; i < queues.size(); ++i) {
    if (!open.contains(queues[i])) continue;
    const Head& head = heads_[queues[i]];
    if (head.empty()) {
      claimer_.floors_.end(queues[i], looks[i]);
    } else {
      claimer_.floors_.end(queues[i], looks[i], head.range().rank);
    }
  }
}

// False if nothing is ready, so that there is nothing to wait for.
bool Claimer::SharedPart::wait_for_others(Transaction& transaction) {
  std::vector<std::int32_t> empty;
  for (const auto& [no, head] : heads_) {
    if (head.empty()) empty.push_back(no);
  }
  const Rows ready = transaction.run(kIsAnyReady, Params::of(empty));
  if (transaction.failed() || !ready[0].boolean(0)) return false;
  (void)transaction.run(kWaitForOthers, Params::of(empty));
  return !transaction.failed();
}

// Turns what one wish was given into leases and tasks. Adds the numbers whose rows have to be read to `unknown`.
void Claimer::SharedPart::lease(std::size_t place, const Given& given, std::vector<std::int64_t>& unknown) {
  const ClaimWish& wish = wanted_.wishes[place];
  for_each_range(
      given, [](const GivenTask& each) { return each.number; },
      [](const GivenTask& a, const GivenTask& b) { return a.from == b.from; },
      [&](const GivenTask& first, const GivenTask& last) {
        RunningRange lease{.life = first.from->life,
                           .rank = first.from->rank,
                           .at = first.from->at,
                           .owner = wish.owner,
                           .token = wish.token,
                           .length = wish.lease,
                           .begins = true};
        lease.life.range = {first.number, last.number};
        ++lease.life.attempt;
        if (lease.life.attempt > 1) again_.push_back(lease.life.range);
        leases_.push_back(std::move(lease));
      });
  std::vector<LeasedTask>& tasks = claimed_[place].tasks;
  tasks.reserve(given.size());
  for (const GivenTask& each : given) {
    tasks.push_back({.number = each.number,
                     .queue = wanted_.names.at(each.from->life.queue),
                     .attempt = each.from->life.attempt + 1});
    tasks_[each.number] = &tasks.back();
  }
  std::ranges::copy(claimer_.known_.fill(tasks), std::back_inserter(unknown));
}

// ---- Claims ----

Result<Claimer::Wanted> Claimer::find_queues(std::span<const ClaimWish> wishes) {
  std::vector<std::string> names;
  for (const ClaimWish& wish : wishes) names.insert(names.end(), wish.queues.begin(), wish.queues.end());
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto known = names_.find(names);
  if (!known.ok()) return known.error();
  Wanted wanted{.wishes = wishes, .queues = std::vector<std::vector<int>>(wishes.size()), .names = {}};
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    for (const std::string& name : wishes[i].queues) {
      const auto found = known->find(name);
      if (found == known->end()) continue;
      wanted.queues[i].push_back(found->second);
      wanted.names[found->second] = name;
    }
  }
  return wanted;
}

// `is_repeated`: with the numbers of queues that were read again, because some of them had ended.
Result<Claimed> Claimer::claim(std::span<const ClaimWish> wishes, bool is_repeated) {
  const auto wanted = find_queues(wishes);
  if (!wanted.ok()) return wanted.error();
  const bool any_once = std::ranges::any_of(wishes, &ClaimWish::once);
  if (wanted->names.empty() && !any_once) return Claimed(wishes.size());
  if (wanted->is_one_head() && has_found_ && !any_once) {
    HeadPart head(*this, *wanted);
    auto claimed = run(head);
    if (!claimed.ok()) return claimed.error();
    if (*claimed) return std::move(**claimed);
  }
  SharedPart shared(*this, *wanted, true);
  auto claimed = run(shared);
  if (!claimed.ok()) return claimed.error();
  if (*claimed) return std::move(**claimed);
  if (shared.ended().empty() || is_repeated) return Claimed(wishes.size());
  return claim(wishes, true);
}

Result<std::unique_ptr<ClaimPart>> Claimer::part(std::span<const ClaimWish> wishes) {
  if (!has_found_ || std::ranges::any_of(wishes, &ClaimWish::once)) return std::unique_ptr<ClaimPart>();
  auto wanted = find_queues(wishes);
  if (!wanted.ok()) return wanted.error();
  if (wanted->names.empty()) return std::unique_ptr<ClaimPart>();
  if (wanted->is_one_head()) return std::unique_ptr<ClaimPart>(std::make_unique<HeadPart>(*this, std::move(*wanted)));
  return std::unique_ptr<ClaimPart>(std::make_unique<SharedPart>(*this, std::move(*wanted), false));
}

// In a transaction of its own; in another one if a queue was closed while it was at work.
Result<std::optional<Claimed>> Claimer::run(ClaimPart& part) {
  const auto body = [&](Transaction& transaction) -> Result<bool> {
    part.send(transaction, {});
    if (auto committed = transaction.commit(); !committed.ok()) {
      if (transaction.failure()->unmet()) return false;
      return committed.error();
    }
    part.read(transaction);
    return true;
  };
  Result<bool> done = false;
  for (int i = 0; i < kMostClosings && done.ok() && !*done; ++i) {
    done = part.only_queue() ? pool_.transact_in_one_trip<bool>(body) : pool_.transact<bool>(body);
  }
  if (!done.ok()) return done.error();
  if (!*done) return std::optional<Claimed>();
  auto finished = part.finish();
  if (!finished.ok())
    return unknown_outcome(finished.error());  // the tasks are leased: leases_of() finds them by the token
  return finished;
}

void Claimer::note_cost(std::size_t ranges, std::size_t tasks) {
  const double cost = static_cast<double>(ranges) / static_cast<double>(tasks);
  ranges_for_a_task_ = ranges_for_a_task_ * (1 - kWeightOfNewest) + cost * kWeightOfNewest;
}

std::int64_t Claimer::ranges_for(std::int64_t wanted, double ranges_for_a_task) {
  return std::min<std::int64_t>(
      wanted, static_cast<std::int64_t>(std::ceil(static_cast<double>(wanted) * ranges_for_a_task)) + 1);
}

// After the commit. Drops tasks whose row is gone: they were cancelled and purged meanwhile.
Result<void> Claimer::read_payloads(std::vector<LeasedTask>& tasks, const std::vector<std::int64_t>& unknown,
                                    const std::vector<Range>& again) {
  using Numbers = std::unordered_set<std::int64_t>;
  const auto found = pool_.look<Numbers>([&](Transaction& transaction) -> Result<Numbers> {
    const Payloads payloads(transaction, unknown, again);
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    std::unordered_map<std::int64_t, LeasedTask*> by_number;
    for (LeasedTask& task : tasks) by_number[task.number] = &task;
    payloads.fill(by_number);
    return payloads.found();
  });
  if (!found.ok()) return found.error();
  Numbers gone(unknown.begin(), unknown.end());
  std::erase_if(gone, [&](std::int64_t number) { return found->contains(number); });
  std::erase_if(tasks, [&](const LeasedTask& task) { return gone.contains(task.number); });
  return {};
}

}  // namespace horae::postgres
