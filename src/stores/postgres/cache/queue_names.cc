#include "stores/postgres/cache/queue_names.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "model/task.h"
#include "store/queue_store.h"
#include "store/submission.h"
#include "stores/postgres/connection/statements.h"

namespace horae::postgres {
namespace {

const Sql kFind = statement("queue_find");
const Sql kNameOf = statement("queue_name_of");
const Sql kLock = statement("queue_lock");
const Sql kMake = statement("queue_make", Changes::kAny);
const Sql kIsFull = statement("queue_is_full");

QueueNumbers read_numbers(const Rows& rows) {
  QueueNumbers numbers;
  for (const Row row : rows) numbers.emplace(row.text(0), row.small(1));
  return numbers;
}

}  // namespace

Result<QueueNumbers> QueueNames::find(const std::vector<std::string>& names) {
  std::vector<std::string> unknown;
  QueueNumbers numbers = known(names, unknown);
  if (unknown.empty()) return numbers;
  auto found = pool_.look<QueueNumbers>([&](Transaction& transaction) -> Result<QueueNumbers> {
    const auto ticket = transaction.send(kFind, Params::of(unknown));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return read_numbers(transaction.rows(ticket));
  });
  if (!found.ok()) return found;
  remember(*found);
  numbers.merge(*found);
  return numbers;
}

Result<QueueNumbers> QueueNames::find_or_make(const std::vector<std::string>& names) {
  std::vector<WantedQueue> wanted;
  for (const std::string& name : names) wanted.push_back({.name = name});
  auto made = find_or_make_wanted(wanted);
  if (!made.ok()) return made.error();
  return std::move(made->numbers);
}

Result<MadeQueues> QueueNames::find_or_make_wanted(const std::vector<WantedQueue>& wanted) {
  std::vector<std::string> names;
  for (const WantedQueue& each : wanted) names.push_back(each.name);
  auto numbers = find(names);
  if (!numbers.ok()) return numbers.error();
  std::vector<WantedQueue> missing;
  std::set<std::pair<std::string_view, std::string_view>> seen;  // a name, and on whose account
  for (const WantedQueue& each : wanted) {
    if (numbers->contains(each.name) || !check_queue_name(each.name).ok()) continue;
    const std::string_view maker = each.allowance ? std::string_view(each.allowance->token) : std::string_view();
    if (seen.emplace(each.name, maker).second) missing.push_back(each);
  }
  if (missing.empty()) return MadeQueues{.numbers = std::move(*numbers)};
  auto made = make(missing);
  if (!made.ok()) return made;
  remember(made->numbers);
  made->numbers.merge(*numbers);
  return made;
}

// Idempotent, so that the caller may repeat it after kUnavailable: queues that exist already are found.
Result<MadeQueues> QueueNames::make(const std::vector<WantedQueue>& missing) {
  std::vector<std::string> names;
  std::vector<std::optional<std::string>> makers;
  std::vector<std::int64_t> most;
  for (const auto& [name, allowance] : missing) {
    names.push_back(name);
    makers.push_back(allowance ? std::optional(allowance->token) : std::nullopt);
    most.push_back(allowance ? static_cast<std::int64_t>(allowance->most) : 0);
  }
  const auto max = static_cast<std::int64_t>(max_queues_);
  return pool_.transact<MadeQueues>([&](Transaction& transaction) -> Result<MadeQueues> {
    transaction.send(kLock);
    transaction.send(kMake, Params::of(names, kDefaultAgeingRate, kDefaultRetention, max, makers, most));
    const auto found = transaction.send(kFind, Params::of(names));
    const auto full = transaction.send(kIsFull, Params::of(max));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return MadeQueues{.numbers = read_numbers(transaction.rows(found)),
                      .is_full = transaction.rows(full)[0].boolean(0)};
  });
}

Result<std::string> QueueNames::name_of(int no) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = names_.find(no); found != names_.end()) return found->second;
  }
  auto name = pool_.look<std::string>([&](Transaction& transaction) -> Result<std::string> {
    const auto ticket = transaction.send(kNameOf, Params::of(std::int32_t{no}));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    const Rows& rows = transaction.rows(ticket);
    if (rows.empty()) return Error{ErrorCode::kInternal, fmt::format("queue number {}: there is no such queue", no)};
    return rows[0].text(0);
  });
  if (name.ok()) remember({{*name, no}});
  return name;
}

void QueueNames::forget(const std::vector<std::string>& names) {
  const std::lock_guard lock(mutex_);
  for (const std::string& name : names) {
    if (const auto found = numbers_.find(name); found != numbers_.end()) forget_number(found->second);
  }
}

void QueueNames::forget_numbers(const std::vector<int>& numbers) {
  const std::lock_guard lock(mutex_);
  for (const int no : numbers) forget_number(no);
}

void QueueNames::forget_number(int no) {
  const auto found = names_.find(no);
  if (found == names_.end()) return;
  const auto of_name = numbers_.find(found->second);
  if (of_name != numbers_.end() && of_name->second == no) numbers_.erase(of_name);
  names_.erase(found);
}

void QueueNames::forget() {
  const std::lock_guard lock(mutex_);
  numbers_.clear();
  names_.clear();
}

QueueNumbers QueueNames::known(const std::vector<std::string>& names, std::vector<std::string>& unknown) {
  QueueNumbers numbers;
  std::unordered_set<std::string_view> seen;
  const std::lock_guard lock(mutex_);
  for (const std::string& name : names) {
    if (const auto found = numbers_.find(name); found != numbers_.end()) {
      numbers.emplace(name, found->second);
    } else if (check_queue_name(name).ok() && seen.insert(name).second) {
      unknown.push_back(name);
    }
  }
  return numbers;
}

void QueueNames::remember(const QueueNumbers& numbers) {
  const std::lock_guard lock(mutex_);
  if (names_.size() > most_cached()) {
    numbers_.clear();
    names_.clear();
  }
  for (const auto& [name, no] : numbers) {
    numbers_.insert_or_assign(name, no);
    names_.insert_or_assign(no, name);
  }
}

}  // namespace horae::postgres
