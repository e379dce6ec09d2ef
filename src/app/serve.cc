#include "app/serve.h"

#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <ostream>

#include "base/version.h"

namespace horae {
namespace {

// The signals that ask a node to stop, blocked so that they wait for wait().
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
  }

  Result<void> block() {
    const int failed = pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    if (failed != 0) return Error{ErrorCode::kInternal, fmt::format("cannot block signals: {}", std::strerror(failed))};
    return {};
  }

  Result<int> wait() {
    int signal = 0;
    const int failed = sigwait(&set_, &signal);
    if (failed != 0)
      return Error{ErrorCode::kInternal, fmt::format("cannot wait for signals: {}", std::strerror(failed))};
    return signal;
  }

 private:
  sigset_t set_{};
};

void greet(std::ostream& out) {
  out << fmt::format(
             "horae {} is running.\n"
             "\n"
             "It is a skeleton: it does not open a port or run tasks yet. It will keep tasks, lease them to workers "
             "in\n"
             "order of importance, and never lose one. docs/architecture.md shows the plan, CHANGELOG.md what is "
             "there.\n"
             "\n"
             "Stop it with Ctrl-C (or: kill -TERM).",
             version())
      << std::endl;
}

}  // namespace

Result<void> serve(std::ostream& out) {
  StopSignals signals;
  if (auto blocked = signals.block(); !blocked.ok()) return blocked;
  greet(out);
  const auto signal = signals.wait();
  if (!signal.ok()) return signal.error();
  out << fmt::format("horae stopped ({}).", *signal == SIGINT ? "SIGINT" : "SIGTERM") << std::endl;
  return {};
}

}  // namespace horae
