#include "stores/postgres/layout/days.h"

#include "base/check.h"
#include "stores/postgres/connection/statements.h"

namespace horae::postgres {
namespace {

const Sql kNow = statement("now");
const Sql kMakeDay = statement("make_day");
const Sql kTakeBlock = statement("take_block");

constexpr std::int64_t kDaysBefore = 1;
constexpr std::int64_t kDaysAhead = 2;

}  // namespace

Result<void> Days::refresh() {
  const auto now = pool_.transact<Instant>([](Transaction& transaction) -> Result<Instant> {
    const Rows rows = transaction.run(kNow);
    if (auto done = transaction.commit(); !done.ok()) return done.error();
    return rows[0].instant(0);
  });
  if (!now.ok()) return now.error();
  const std::int64_t today = day_of(*now);
  std::set<std::int64_t> made;
  for (std::int64_t day = today - kDaysBefore; day <= today + kDaysAhead; ++day) {
    made.insert(day);
    if (is_open(day)) continue;
    const auto done = pool_.transact<bool>([&](Transaction& transaction) -> Result<bool> {
      transaction.be_patient();
      transaction.send(kMakeDay, Params::of(day));
      if (auto committed = transaction.commit(); !committed.ok()) return committed.error();
      return true;
    });
    if (!done.ok()) return done.error();
  }
  const std::lock_guard lock(mutex_);
  today_ = today;
  made_ = std::move(made);
  return {};
}

void Days::forget() {
  const std::lock_guard lock(mutex_);
  made_.clear();
}

void Days::forget_all() {
  const std::lock_guard lock(mutex_);
  today_ = 0;
  made_.clear();
  block_ = {};
}

std::int64_t Days::today() {
  const std::lock_guard lock(mutex_);
  return today_;
}

bool Days::is_open(std::int64_t day) {
  const std::lock_guard lock(mutex_);
  return made_.contains(day);
}

Result<Range> Days::take(std::int64_t day, std::int64_t count) {
  HORAE_CHECK(count >= 1 && count <= kBlock, "one block must do");
  const std::lock_guard lock(mutex_);
  if (block_.left < count) {
    const auto block = pool_.transact<std::int64_t>([](Transaction& transaction) -> Result<std::int64_t> {
      const std::size_t taken = transaction.send(kTakeBlock);
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      return transaction.rows(taken)[0].integer(0);
    });
    if (!block.ok()) return block.error();
    block_ = {.next = *block * kBlock, .left = kBlock};
  }
  const Range range{(day << kDayShift) + block_.next, (day << kDayShift) + block_.next + count - 1};
  block_.next += count;
  block_.left -= count;
  return range;
}

}  // namespace horae::postgres
