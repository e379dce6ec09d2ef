#include "stores/postgres/cache/queue_names.h"

#include <fmt/format.h>

#include <string_view>
#include <unordered_set>

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
  auto numbers = find(names);
  if (!numbers.ok()) return numbers;
  std::vector<std::string> missing;
  QueueNumbers meanwhile = known(names, missing);
  numbers->merge(meanwhile);
  if (missing.empty()) return numbers;
  // Idempotent, so that the caller may repeat it after kUnavailable: queues that exist already are found.
  auto made = pool_.transact<QueueNumbers>([&](Transaction& transaction) -> Result<QueueNumbers> {
    transaction.send(kLock);
    transaction.send(kMake,
                     Params::of(missing, kDefaultAgeingRate, kDefaultRetention, static_cast<std::int64_t>(kMaxQueues)));
    const auto ticket = transaction.send(kFind, Params::of(missing));
    if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
    return read_numbers(transaction.rows(ticket));
  });
  if (!made.ok()) return made;
  remember(*made);
  numbers->merge(*made);
  return numbers;
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
  for (const auto& [name, no] : numbers) {
    numbers_.emplace(name, no);
    names_.emplace(no, name);
  }
}

}  // namespace horae::postgres
