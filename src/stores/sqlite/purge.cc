#include "stores/sqlite/purge.h"

#include <vector>

#include "base/mutant.h"
#include "stores/sqlite/statements.h"

namespace horae::sqlite {
namespace {

bool purges_too_much() { return HORAE_MUTANT("purge_takes_the_unfinished"); }

}  // namespace

Purger::Purger(Writer& writer)
    : purgeable_(writer.database(), purges_too_much() ? statement("mutant_purgeable") : statement("purgeable")),
      purge_life_(writer.database(), purges_too_much() ? statement("mutant_purge_life") : statement("purge_life")),
      purge_task_(writer.database(), statement("purge_task")),
      purge_checkpoint_(writer.database(), statement("purge_checkpoint")),
      purge_errors_(writer.database(), statement("purge_errors")),
      purge_trail_(writer.database(), statement("purge_trail")),
      raise_high_number_(writer.database(), statement("purge_raise_high_number")) {}

PurgeOutcome Purger::purge(std::int64_t queue, Instant before, std::size_t max, Change& change) {
  std::vector<std::int64_t> numbers;
  purgeable_.start(queue, before, max + 1);  // one more shows whether there is more
  while (purgeable_.next()) numbers.push_back(purgeable_.integer(0));
  PurgeOutcome outcome;
  for (const std::int64_t number : numbers) {
    if (outcome.purged == max) {
      outcome.more = true;
      break;
    }
    outcome.purged += purge_one(number, queue, change) ? 1U : 0U;
  }
  return outcome;
}

bool Purger::purge_one(std::int64_t number, std::int64_t queue, Change& change) {
  std::optional<State> state;
  purge_life_.start(number);
  while (purge_life_.next()) state = static_cast<State>(purge_life_.small(0));
  if (!state) return false;
  purge_task_.run(number);
  for (Statement* statement : {&purge_checkpoint_, &purge_errors_, &purge_trail_}) statement->run_any(number);
  raise_high_number_.run(number);
  change.moved(queue, state, std::nullopt);
  return true;
}

}  // namespace horae::sqlite
