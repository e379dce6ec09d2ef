#include "tests/sim/world.h"

#include <fmt/format.h>

#include <iostream>
#include <utility>

#include "stores/sqlite/sqlite_store.h"

namespace horae::sim {
namespace {

// The random numbers of the world must differ from those that made the plan.
constexpr std::uint64_t kOtherSeed = 0x9e3779b97f4a7c15U;

constexpr std::size_t kMostRecords = 500'000;

}  // namespace

World::World(const Plan& the_plan, std::ostream* trace)
    : plan(the_plan),
      chance(the_plan.seed ^ kOtherSeed),
      store(std::move(open_sqlite_store(std::string(kSqliteMemory), events)).value()),
      trace_(trace),
      log_(trace == nullptr ? std::cerr : *trace, events,
           {.level = trace == nullptr ? LogLevel::kOff : LogLevel::kInfo}) {
  history.promises = {.slack = plan.poll / 10,
                      .prompt = std::chrono::milliseconds(200),
                      .patient = plan.poll + plan.poll / 4 + std::chrono::milliseconds(300)};
}

void World::enter(Phase::Kind phase) {
  phase_ = phase;
  record(Phase{phase});
}

void World::record(What what, int node) {
  if (history.records.size() >= kMostRecords) throw Endless{};
  history.records.push_back({now(), node, std::move(what)});
  if (trace_ != nullptr) say(describe(history.records.back(), kStart));
}

void World::fault(std::string_view what) {
  ++faults;
  if (trace_ != nullptr) say(fmt::format("FAULT {}", what));
}

void World::say(std::string_view text) {
  const double seconds = std::chrono::duration<double>(now() - kStart).count();
  *trace_ << fmt::format("{:14.6f}  {}\n", seconds, text);
}

}  // namespace horae::sim
