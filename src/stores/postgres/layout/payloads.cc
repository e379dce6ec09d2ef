#include "stores/postgres/layout/payloads.h"

#include <set>
#include <utility>

#include "stores/postgres/connection/statements.h"
#include "stores/postgres/layout/look_up.h"
#include "stores/postgres/layout/places.h"

namespace horae::postgres {
namespace {

const Sql kPayloads = statement("payloads");
const Sql kCheckpoints = statement("checkpoints");
const Sql kOfTokens = statement("of_tokens");

}  // namespace

Payloads::Payloads(Transaction& transaction, std::vector<std::int64_t> numbers, const std::vector<Range>& again)
    : transaction_(transaction) {
  if (const auto ranges = ranges_of(std::move(numbers)); !ranges.empty()) {
    payloads_ =
        transaction.send(kPayloads, Params::of(los_of(ranges), his_of(ranges), ranges.front().lo, ranges.back().hi));
  }
  if (!again.empty()) checkpoints_ = transaction.send(kCheckpoints, Params::of(los_of(again), his_of(again)));
}

void Payloads::fill(std::unordered_map<std::int64_t, LeasedTask*>& tasks) const {
  for (const Row row : payloads_ ? transaction_.rows(*payloads_) : Rows()) {
    const auto task = tasks.find(row.integer(0));
    if (task == tasks.end()) continue;
    task->second->id = row.uuid(1);
    task->second->priority = row.small(2);
    task->second->spec = row.text(3);
  }
  for (const Row row : checkpoints_ ? transaction_.rows(*checkpoints_) : Rows()) {
    const auto task = tasks.find(row.integer(0));
    if (task != tasks.end()) task->second->checkpoint = row.text(1);
  }
}

std::unordered_set<std::int64_t> Payloads::found() const {
  std::unordered_set<std::int64_t> numbers;
  for (const Row row : payloads_ ? transaction_.rows(*payloads_) : Rows()) numbers.insert(row.integer(0));
  return numbers;
}

HeldTasks::HeldTasks(Transaction& transaction, const std::vector<Uuid>& tokens)
    : transaction_(transaction), leases_(transaction.send(kOfTokens, Params::of(tokens))) {}

void HeldTasks::read() {
  const Rows leases = transaction_.rows(leases_);
  if (leases.empty()) return;
  std::set<int> queues;
  for (const Row row : leases) queues.insert(row.small(2));
  auto names = find_queue_names(transaction_, queues);
  std::vector<Range> ranges;
  std::vector<std::int64_t> numbers;
  for (const Row row : leases) {
    ranges.push_back({row.integer(0), row.integer(1)});
    OfToken& held = tasks_[row.uuid(5)];
    held.owner = row.text(6);
    for (std::int64_t number = ranges.back().lo; number <= ranges.back().hi; ++number) {
      numbers.push_back(number);
      held.tasks.push_back(
          {.number = number, .queue = names[row.small(2)], .attempt = row.small(3), .lease_expires = row.instant(4)});
    }
  }
  payloads_.emplace(transaction_, std::move(numbers), ranges);
}

const HeldTasks::ByToken& HeldTasks::fill() {
  std::unordered_map<std::int64_t, LeasedTask*> by_number;
  for (auto& [token, held] : tasks_) {
    for (LeasedTask& task : held.tasks) by_number[task.number] = &task;
  }
  if (payloads_) payloads_->fill(by_number);
  return tasks_;
}

}  // namespace horae::postgres
