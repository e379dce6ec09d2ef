#include "stores/postgres/claim.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "stores/postgres/once.h"
#include "stores/postgres/payloads.h"
#include "stores/postgres/take_head.h"
#include "stores/postgres/time.h"

namespace horae::postgres {
namespace {

// In the order of claims, by run_order; a queue in which nothing is ready answers one row of nulls. Pause and stop are
// conditions of the statement itself. What others have locked is left to them.
const Sql kLockHeads{
    "lock_heads",
    std::string("select horae_now(), q.no, q.base, q.rate, q.since, ") + kRunColumns +
        " from unnest($1::integer[], $2::bigint[], $3::bigint[]) as w(no, floor, most)"
        " join queue as q on q.no = w.no and not q.paused"
        " left join lateral ("
        "  select * from run where run.queue = q.no and run.rank >= case q.rate when 0 then $4::bigint else w.floor end"
        "  order by run.queue, run.rank, run.at, run.lo limit w.most for update skip locked) as r on true"
        " where not (select stopped from control)"};

// Something is ready, but others hold it just now.
const Sql kWaitForOthers{
    "wait_for_others",
    "select r.lo from unnest($1::integer[]) as w(no) join queue as q on q.no = w.no and not q.paused"
    " cross join lateral (select lo from run where run.queue = q.no order by run.queue, run.rank, run.at, run.lo limit "
    "1"
    " for update) as r"
    " where not (select stopped from control) limit 1"};
const Sql kIsAnyReady{"is_any_ready",
                      "select exists (select from unnest($1::integer[]) as w(no) join run on run.queue = w.no)"};

constexpr int kMostWaits = 3;
constexpr double kWeightOfNews = 0.1;

}  // namespace

Result<std::vector<std::vector<LeasedTask>>> Claimer::claim(std::span<const ClaimWish> wishes) {
  using Answer = std::vector<std::vector<LeasedTask>>;
  std::vector<std::string> names;
  for (const ClaimWish& wish : wishes) names.insert(names.end(), wish.queues.begin(), wish.queues.end());
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto known = names_.find(names);
  if (!known.ok()) return known.error();
  std::vector<std::vector<int>> queues(wishes.size());
  std::map<int, std::string_view> name_of;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    for (const std::string& name : wishes[i].queues) {
      const auto found = known->find(name);
      if (found == known->end()) continue;
      queues[i].push_back(found->second);
      name_of[found->second] = found->first;
    }
  }
  const bool any_once = std::ranges::any_of(wishes, &ClaimWish::once);
  if (name_of.empty() && !any_once) return Answer(wishes.size());
  if (wishes.size() == 1 && queues[0].size() == 1 && has_found_ && !any_once) {
    auto claimed = claim_head(wishes[0], queues[0][0], name_of.at(queues[0][0]));
    if (!claimed.ok()) return claimed.error();
    if (*claimed) {
      Answer answer(1);
      answer[0] = std::move(**claimed);
      return answer;
    }
  }

  return pool_.transact<Answer>([&](Transaction& transaction) -> Result<Answer> {
    OnceTokens once(transaction, wishes);
    Heads heads;
    std::vector<std::vector<int>> open(wishes.size());  // queues from which each may get something new
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      if (!once.has_served(wishes[i])) open[i] = queues[i];
      for (const int queue : open[i]) heads[queue].wanted += wishes[i].max;
    }
    Instant now;
    const auto given = share_out(transaction, wishes, open, heads, now);

    std::vector<std::int64_t> gone;
    std::vector<RunRange> rest;
    for (const auto& [queue, head] : heads) {
      for (std::size_t i = 0; i < head.runs.size(); ++i) {
        if (!head.touched[i]) continue;
        gone.push_back(head.runs[i].life.range.lo);
        if (i != head.first) continue;
        rest.push_back(head.runs[i]);
        rest.back().life.range.lo = head.next;
      }
    }
    std::vector<LeaseRange> leases;
    std::vector<Range> again;
    std::vector<std::int64_t> unknown;
    Answer answer(wishes.size());
    std::unordered_map<std::int64_t, LeasedTask*> tasks;
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      const ClaimWish& wish = wishes[i];
      const Instant expires = after(now, wish.lease);
      for_each_range(
          given[i], [](const Given& each) { return each.number; },
          [](const Given& a, const Given& b) { return a.run == b.run; },
          [&](const Given& first, const Given& last) {
            LeaseRange lease{.life = first.run->life,
                             .rank = first.run->rank,
                             .at = first.run->at,
                             .owner = wish.owner,
                             .token = wish.token,
                             .length = wish.lease,
                             .started_at = now,
                             .expires = expires};
            lease.life.range = {first.number, last.number};
            ++lease.life.attempt;
            if (lease.life.attempt > 1) again.push_back(lease.life.range);
            leases.push_back(std::move(lease));
          });
      answer[i].reserve(given[i].size());
      for (const Given& each : given[i]) {
        answer[i].push_back({.number = each.number,
                             .queue = std::string(name_of[each.run->life.queue]),
                             .attempt = each.run->life.attempt + 1,
                             .lease_expires = expires});
        tasks[each.number] = &answer[i].back();
      }
      std::ranges::copy(known_.fill(answer[i]), std::back_inserter(unknown));
    }
    has_found_ = !leases.empty();
    if (leases.empty()) {
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      once.fill(wishes, answer);
      return answer;
    }
    delete_runs(transaction, gone);
    insert_runs(transaction, rest);
    insert_leases(transaction, leases);
    once.note_served(wishes, answer);
    const Payloads payloads(transaction, std::move(unknown), again);
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    payloads.fill(tasks);
    for (const auto& each : answer) known_.remember_ids(each);
    for (const LeaseRange& lease : leases) {
      if (!lease.life.recurring) known_.remember_lease({lease.life.range, lease.life.attempt});
    }
    for (const RunRange& run : rest) floors_.lower(run.life.queue, run.rank);
    note_cost(leases.size(), tasks.size());
    once.fill(wishes, answer);
    return answer;
  });
}

void Claimer::note_cost(std::size_t ranges, std::size_t tasks) {
  const double cost = static_cast<double>(ranges) / static_cast<double>(tasks);
  runs_for_a_task_ = runs_for_a_task_ * (1 - kWeightOfNews) + cost * kWeightOfNews;
}

std::int64_t Claimer::runs_for(std::int64_t wanted, double runs_for_a_task) {
  return std::min<std::int64_t>(
      wanted, static_cast<std::int64_t>(std::ceil(static_cast<double>(wanted) * runs_for_a_task)) + 1);
}

Result<std::optional<std::vector<LeasedTask>>> Claimer::claim_head(const ClaimWish& wish, int queue,
                                                                   std::string_view name) {
  using Answer = std::optional<std::vector<LeasedTask>>;
  const Floors::Look look = floors_.begin(queue);
  const auto taken = take_head(
      pool_, {.wish = &wish, .queue = queue, .floor = look.floor, .most = runs_for(wish.max, runs_for_a_task_)});
  if (!taken.ok()) return taken.error();
  if (!*taken) return Answer();
  const TakenHead& head = **taken;
  floors_.end(queue, look, head.ranges.front().rank);
  for (const TakenRange& each : head.ranges) {
    if (each.has_rest) floors_.lower(queue, each.rank);
  }

  std::vector<LeasedTask> tasks;
  tasks.reserve(static_cast<std::size_t>(wish.max));
  std::vector<Range> again;
  for (const TakenRange& each : head.ranges) {
    if (each.attempt > 1) again.push_back(each.range);
    for (std::int64_t number = each.range.lo; number <= each.range.hi; ++number) {
      tasks.push_back({.number = number,
                       .queue = std::string(name),
                       .attempt = each.attempt,
                       .lease_expires = after(head.now, wish.lease)});
    }
  }
  const auto unknown = known_.fill(tasks);
  if (!unknown.empty() || !again.empty()) {
    if (auto read = read_payloads(tasks, unknown, again); !read.ok()) return read.error();
  }
  known_.remember_ids(tasks);
  for (const TakenRange& each : head.ranges) {
    if (!each.is_recurring) known_.remember_lease({each.range, each.attempt});
  }
  note_cost(head.ranges.size(), tasks.size());
  return Answer(std::move(tasks));
}

// After the commit. A task of which no row is left was cancelled and purged meanwhile.
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

std::vector<std::vector<Claimer::Given>> Claimer::share_out(Transaction& transaction, std::span<const ClaimWish> wishes,
                                                            const std::vector<std::vector<int>>& queues, Heads& heads,
                                                            Instant& now) {
  if (heads.empty()) return std::vector<std::vector<Given>>(wishes.size());
  double guess = runs_for_a_task_;
  int waits = 0;
  for (;;) {
    // Whoever waited knows that there is something: the floor was wrong, or all above it was held by others.
    if (!lock_heads(transaction, heads, now, guess, waits > 0)) return std::vector<std::vector<Given>>(wishes.size());
    std::vector<std::vector<Given>> given;
    std::set<Uuid> served;
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      const bool is_closed = wishes[i].once && served.contains(wishes[i].token);
      given.push_back(is_closed ? std::vector<Given>() : give(wishes[i], queues[i], heads, now));
      if (wishes[i].once && !given[i].empty()) served.insert(wishes[i].token);
    }

    // A queue that ran out before its end may have had the next best: once more, with more of it.
    if (std::ranges::any_of(heads, [](const auto& head) { return head.second.is_short(); })) {
      guess = std::min(guess * 4, 1.0);
      continue;
    }
    // Only with empty hands: who holds locks must not wait for others.
    const bool got_nothing = std::ranges::all_of(given, [](const auto& each) { return each.empty(); });
    if (!got_nothing || waits++ == kMostWaits || !wait_for_others(transaction, heads)) return given;
  }
}

// Locks about as many ranges as the wishes need. False after a failure.
bool Claimer::lock_heads(Transaction& transaction, Heads& heads, Instant& now, double runs_for_a_task, bool full) {
  std::vector<std::int32_t> queue;
  std::vector<std::int64_t> floor, most;
  std::vector<Floors::Look> looks;
  for (auto& [no, head] : heads) {
    looks.push_back(floors_.begin(no, full));
    queue.push_back(no);
    floor.push_back(looks.back().floor);
    most.push_back(runs_for(head.wanted, runs_for_a_task));
    head.runs.clear();
  }
  const Rows rows = transaction.run(kLockHeads, Params::of(queue, floor, most, Floors::kNone));
  if (transaction.failed()) return false;
  std::set<int> open;  // neither paused nor stopped
  for (const Row row : rows) {
    now = row.instant(0);
    open.insert(row.small(1));
    Head& head = heads[row.small(1)];
    head.ageing = {.base = row.integer(2), .rate = row.integer(3), .since = row.integer(4)};
    if (!row.is_null(5)) head.runs.push_back(read_run(row, 5));
  }
  for (std::size_t i = 0; i < queue.size(); ++i) {
    Head& head = heads[queue[i]];
    head.is_all = static_cast<std::int64_t>(head.runs.size()) < most[i];
    head.first = 0;
    head.given = 0;
    head.next = head.empty() ? 0 : head.run().life.range.lo;
    head.touched.assign(head.runs.size(), false);
    if (!open.contains(queue[i])) continue;
    if (head.empty()) {
      floors_.end(queue[i], looks[i]);
    } else {
      floors_.end(queue[i], looks[i], head.run().rank);
    }
  }
  return true;
}

// False if nothing is ready, so that there is nothing to wait for.
bool Claimer::wait_for_others(Transaction& transaction, const Heads& heads) {
  std::vector<std::int32_t> empty;
  for (const auto& [no, head] : heads) {
    if (head.empty()) empty.push_back(no);
  }
  const Rows ready = transaction.run(kIsAnyReady, Params::of(empty));
  if (transaction.failed() || !ready[0].boolean(0)) return false;
  (void)transaction.run(kWaitForOthers, Params::of(empty));
  return !transaction.failed();
}

// The most urgent of the heads, again and again.
std::vector<Claimer::Given> Claimer::give(const ClaimWish& wish, const std::vector<int>& queues, Heads& heads,
                                          Instant now) {
  std::vector<Given> given;
  while (given.size() < static_cast<std::size_t>(wish.max)) {
    Head* best = nullptr;
    std::tuple<std::int64_t, std::int64_t, std::int64_t> best_key;
    for (const int queue : queues) {
      Head& head = heads[queue];
      if (head.empty()) continue;
      const auto points = effective_priority(head.ageing, head.run().rank, second_of(now));
      const auto key = std::tuple(-points, head.run().at, head.next);
      if (best == nullptr || key < best_key) {
        best = &head;
        best_key = key;
      }
    }
    if (best == nullptr) break;
    given.push_back({best->next, &best->run()});
    best->touched[best->first] = true;
    ++best->given;
    if (best->next++ < best->run().life.range.hi) continue;
    ++best->first;
    if (!best->empty()) best->next = best->run().life.range.lo;
  }
  return given;
}

Result<std::vector<LeasedTask>> Claimer::leases_of(const Uuid& token) {
  return pool_.look<std::vector<LeasedTask>>([&](Transaction& transaction) -> Result<std::vector<LeasedTask>> {
    HeldTasks held(transaction, {token});
    if (transaction.wait()) held.read();
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    const auto& tasks = held.fill();
    return tasks.empty() ? std::vector<LeasedTask>() : tasks.begin()->second;
  });
}

Result<std::vector<bool>> Claimer::have_served(std::span<const Uuid> tokens) {
  return pool_.look<std::vector<bool>>([&](Transaction& transaction) -> Result<std::vector<bool>> {
    auto served = find_served(transaction, tokens);
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return served;
  });
}

}  // namespace horae::postgres
