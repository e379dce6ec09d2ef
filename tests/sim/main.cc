// horae_sim: runs simulated worlds and checks their histories; docs/internals/testing.md explains it.
//
//   horae_sim                     a fixed set of seeds
//   horae_sim --seed N [--quiet]  one world, with a trace of all events
//   horae_sim --minutes M         new seeds for M minutes; prints the failing ones
//   horae_sim --mutants           checks that each planted bug is found
//   --world tasks|delay           only worlds of that kind; with --seed, which one (tasks)
//   --mutant NAME, --lives N of each world, --from SEED, --seeds N, --budget N worlds for each mutant

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "tests/sim/delay/run.h"
#include "tests/sim/events.h"
#include "tests/sim/mutants.h"
#include "tests/sim/run.h"

namespace {

using namespace horae;       // NOLINT(google-build-using-namespace): a program of one file
using namespace horae::sim;  // NOLINT(google-build-using-namespace)

// A world of either kind.
struct AnyWorld {
  bool is_delay = false;
  std::uint64_t seed = 0;
  std::uint64_t lives = 0;

  RunReport run(std::ostream* trace = nullptr) const {
    return is_delay ? run_delay_world(make_delay_plan(seed, lives), trace) : run_world(make_plan(seed, lives), trace);
  }
  std::string text() const {
    return is_delay ? describe(make_delay_plan(seed, lives)) : describe(make_plan(seed, lives));
  }
};

struct Wanted {
  std::optional<std::uint64_t> seed;
  std::uint64_t from = 1;
  std::uint64_t seeds = 60;
  std::uint64_t minutes = 0;
  std::uint64_t budget = 60;  // worlds for each mutant: the rarest is found by one of twenty
  std::uint64_t lives = 1500;
  std::string world;  // empty: both kinds
  bool quiet = false;
  bool all_mutants = false;
  std::string mutant;
};

struct Totals {
  std::uint64_t worlds = 0;
  std::uint64_t failed = 0;
  std::uint64_t lives = 0;
  std::uint64_t turns = 0;
  std::uint64_t faults = 0;
  std::uint64_t events = 0;
  double years = 0.0;

  void add(const RunReport& report) {
    ++worlds;
    failed += report.violations.empty() ? 0U : 1U;
    lives += report.lives;
    turns += report.turns;
    faults += report.faults;
    events += report.events;
    years += std::chrono::duration<double>(report.time).count() / (365.25 * 86'400);
  }
};

void print_violations(const AnyWorld& world, const RunReport& report) {
  std::cout << "VIOLATED by " << world.text() << "\n";
  std::size_t shown = 0;
  for (const Violation& violation : report.violations) {
    if (++shown > 5) break;
    const double seconds = std::chrono::duration<double>(violation.at - kStart).count();
    std::cout << fmt::format("  {:14.6f} {}: {}\n", seconds, violation.rule, violation.text);
  }
  if (report.violations.size() > shown)
    std::cout << fmt::format("  and {} more\n", report.violations.size() - shown + 1);
}

void print_totals(const Totals& totals, Duration taken) {
  std::cout << fmt::format("{} worlds, {} lives, {} turns of recurring tasks, {} faults, {:.2f} years in {:.1f} s\n",
                           totals.worlds, totals.lives, totals.turns, totals.faults, totals.years,
                           std::chrono::duration<double>(taken).count());
  std::cout << fmt::format(
      "result sim.violations {}\nresult sim.years {:.4f}\nresult sim.lives {}\nresult sim.faults {}\n", totals.failed,
      totals.years, totals.lives, totals.faults);
}

// Runs consecutive seeds until `is_over` returns true.
template <typename IsOver>
int run_seeds(const Wanted& wanted, std::uint64_t first, IsOver is_over) {
  const SystemClock clock;
  const MonotonicTime begin = clock.now();
  Totals totals;
  for (std::uint64_t seed = first; !is_over(totals, clock.now() - begin); ++seed) {
    for (const bool is_delay : {false, true}) {
      if (wanted.world == (is_delay ? "tasks" : "delay")) continue;
      const AnyWorld world{.is_delay = is_delay, .seed = seed, .lives = wanted.lives};
      const RunReport report = world.run();
      totals.add(report);
      if (!report.violations.empty()) print_violations(world, report);
    }
  }
  print_totals(totals, clock.now() - begin);
  return totals.failed == 0 ? 0 : 1;
}

// Checks that the same seed makes the same world.
bool is_repeatable(const Wanted& wanted) {
  for (const bool is_delay : {false, true}) {
    const AnyWorld world{.is_delay = is_delay, .seed = wanted.from, .lives = wanted.lives};
    const RunReport once = world.run();
    const RunReport again = world.run();
    if (once.events == again.events && once.faults == again.faults && once.time == again.time) continue;
    std::cout << "NOT REPEATABLE: " << world.text() << "\n";
    return false;
  }
  return true;
}

int run_fixed(const Wanted& wanted) {
  const bool is_same = is_repeatable(wanted);
  const std::uint64_t worlds = wanted.seeds * (wanted.world.empty() ? 2 : 1);
  const int failed =
      run_seeds(wanted, wanted.from, [&](const Totals& totals, Duration) { return totals.worlds >= worlds; });
  return is_same ? failed : 1;
}

int run_soak(const Wanted& wanted) {
  const std::uint64_t first = SystemRandom().next() >> 24;
  return run_seeds(wanted, first,
                   [&](const Totals&, Duration taken) { return taken >= std::chrono::minutes(wanted.minutes); });
}

int run_one(const Wanted& wanted) {
  const SystemClock clock;
  const MonotonicTime begin = clock.now();
  const AnyWorld world{.is_delay = wanted.world == "delay", .seed = *wanted.seed, .lives = wanted.lives};
  std::cout << world.text() << "\n";
  const RunReport report = world.run(wanted.quiet ? nullptr : &std::cout);
  if (!report.violations.empty()) print_violations(world, report);
  Totals totals;
  totals.add(report);
  print_totals(totals, clock.now() - begin);
  return totals.failed == 0 ? 0 : 1;
}

// ---- Planted bugs ----

// The result of one world with a planted bug. Each runs in its own process, because some bugs abort the program.
enum class Fate { kClean, kViolated, kAborted };

Fate run_apart(const AnyWorld& world) {
  constexpr unsigned kLongestSeconds = 60;
  const pid_t child = fork();
  HORAE_CHECK(child >= 0, "cannot fork");
  if (child == 0) {
    alarm(kLongestSeconds);
    std::_Exit(world.run().violations.empty() ? 0 : 1);
  }
  int status = 0;
  HORAE_CHECK(waitpid(child, &status, 0) == child, "cannot wait");
  if (!WIFEXITED(status)) return Fate::kAborted;
  return WEXITSTATUS(status) == 0 ? Fate::kClean : Fate::kViolated;
}

// The number of worlds until one found the bug; nothing if none did.
std::optional<std::uint64_t> hunt(const Mutant& mutant, const Wanted& wanted, Fate& fate) {
  (void)plant(mutant.name);
  for (std::uint64_t tried = 1; tried <= wanted.budget; ++tried) {
    fate = run_apart({.is_delay = mutant.is_in_delay, .seed = wanted.from + tried - 1, .lives = wanted.lives});
    if (fate != Fate::kClean) return tried;
  }
  return std::nullopt;
}

int run_mutants(const Wanted& wanted) {
  const SystemClock clock;
  const MonotonicTime begin = clock.now();
  std::size_t total = 0, caught = 0, safety_missed = 0;
  for (const Mutant& mutant : mutants()) {
    if (wanted.world == (mutant.is_in_delay ? "tasks" : "delay")) continue;
    ++total;
    const bool is_safety = mutant.harm == Mutant::Harm::kSafety;
    const MonotonicTime start = clock.now();
    Fate fate = Fate::kClean;
    const auto tried = hunt(mutant, wanted, fate);
    caught += tried ? 1U : 0U;
    safety_missed += !tried && is_safety ? 1U : 0U;
    const std::string how =
        !tried ? fmt::format("MISSED in {} worlds", wanted.budget)
               : fmt::format("found by world {}{}", *tried, fate == Fate::kAborted ? " (aborted)" : "");
    std::cout << fmt::format("{:30} {:9} {:26} {:5.1f} s  {}\n", mutant.name, is_safety ? "safety" : "liveness", how,
                             std::chrono::duration<double>(clock.now() - start).count(), mutant.failure)
              << std::flush;
  }
  std::cout << fmt::format("{} of {} mutants in {:.0f} s\n", caught, total,
                           std::chrono::duration<double>(clock.now() - begin).count());
  std::cout << fmt::format("result sim.mutants.total {}\nresult sim.mutants.caught_share {:.4f}\n", total,
                           static_cast<double>(caught) / static_cast<double>(total));
  std::cout << fmt::format("result sim.mutants.safety_missed {}\n", safety_missed);
  return safety_missed == 0 && caught * 20 >= total * 19 ? 0 : 1;
}

// ---- The command line ----

std::optional<std::uint64_t> number_of(const char* text) {
  std::uint64_t number = 0;
  const std::string_view view(text);
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), number);
  return error == std::errc() && end == view.data() + view.size() ? std::optional(number) : std::nullopt;
}

struct NumberOption {
  std::string_view name;
  std::uint64_t Wanted::*target;
};
constexpr std::array kNumberOptions = std::to_array<NumberOption>({{"--from", &Wanted::from},
                                                                   {"--seeds", &Wanted::seeds},
                                                                   {"--minutes", &Wanted::minutes},
                                                                   {"--budget", &Wanted::budget},
                                                                   {"--lives", &Wanted::lives}});

// An option with its value. False if it is not one.
bool read_pair(std::string_view option, const char* value, Wanted& wanted) {
  if (option == "--world") {
    wanted.world = value;
    return wanted.world == "tasks" || wanted.world == "delay";
  }
  if (option == "--mutant") {
    wanted.mutant = value;
    return true;
  }
  const auto number = number_of(value);
  if (option == "--seed") {
    wanted.seed = number;
    return number.has_value();
  }
  const auto found = std::ranges::find(kNumberOptions, option, &NumberOption::name);
  if (found == kNumberOptions.end() || !number) return false;
  wanted.*found->target = *number;
  return true;
}

bool read(int argc, char** argv, Wanted& wanted) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--quiet") {
      wanted.quiet = true;
    } else if (option == "--mutants") {
      wanted.all_mutants = true;
    } else if (i + 1 == argc || !read_pair(option, argv[++i], wanted)) {
      return false;
    }
  }
  return plant(wanted.mutant);
}

}  // namespace

int main(int argc, char** argv) {
  Wanted wanted;
  if (!read(argc, argv, wanted)) {
    std::cerr << "usage: see the head of tests/sim/main.cc\n";
    return 2;
  }
  if (wanted.all_mutants) return run_mutants(wanted);
  if (wanted.seed) return run_one(wanted);
  if (wanted.minutes > 0) return run_soak(wanted);
  return run_fixed(wanted);
}
