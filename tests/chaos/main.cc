// horae_chaos [SECONDS [SEED]]: injects failures for SECONDS; nothing may be lost. Ends with lines `result NAME VALUE`.

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>

#include "base/random.h"
#include "tests/chaos/chaos.h"

int main(int argc, char** argv) {
  using namespace horae;  // NOLINT(google-build-using-namespace): a program of one file
  testing::ChaosOptions options{.horae = HORAE_BINARY, .worker = CHAOS_WORKER};
  options.seed =
      argc > 2 ? std::strtoull(argv[2], nullptr, 10) : static_cast<std::uint64_t>(SystemRandom().unit() * 1'000'000);
  if (argc > 1) options.duration = std::chrono::seconds(std::atoi(argv[1]));
  std::cout << fmt::format("seed {}\n", options.seed);
  const testing::ChaosOutcome outcome = testing::run_chaos(options, std::cout);
  for (const std::string& violation : outcome.violations) std::cout << violation << '\n';
  const auto result = [](const char* name, std::size_t value) {
    std::cout << fmt::format("result {} {}\n", name, value);
  };
  result("chaos.violations", outcome.violations.size());
  result("chaos.lives", outcome.completed);
  result("chaos.submitted", outcome.submitted);
  result("chaos.attempts", outcome.attempts);
  result("chaos.repeated_calls", outcome.unavailable);
  result("chaos.node_kills", static_cast<std::size_t>(outcome.node_kills));
  result("chaos.node_pauses", static_cast<std::size_t>(outcome.node_pauses));
  result("chaos.worker_kills", static_cast<std::size_t>(outcome.worker_kills));
  result("chaos.worker_pauses", static_cast<std::size_t>(outcome.worker_pauses));
  result("chaos.cuts", static_cast<std::size_t>(outcome.cuts));
  result("chaos.worker_cuts", static_cast<std::size_t>(outcome.worker_cuts));
  result("chaos.outages", static_cast<std::size_t>(outcome.outages));
  return outcome.violations.empty() && outcome.completed > 0 ? 0 : 1;
}
