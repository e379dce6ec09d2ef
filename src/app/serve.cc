#include "app/serve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <ostream>

#include "app/demo.h"
#include "app/file_limit.h"
#include "app/greeting.h"
#include "app/node.h"
#include "app/open_store.h"
#include "base/random.h"
#include "engine/runner.h"

namespace horae {
namespace {

// The signals that stop a node or reload its certificates. They are blocked, so that they stay pending until wait().
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGHUP);
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

// The name of this program as typed in this folder: it need not be on the PATH.
std::string program() {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return "horae";
  const auto from_here = std::filesystem::proximate(path, failed);
  return failed || from_here.native().starts_with("..") ? path.string() : from_here.string();
}

// The host name; empty if there is none.
std::string name_of_machine() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Runs the demo's report on a thread of its own.
class Demo {
 public:
  Demo(Store& store, const Clock& clock, const Logger& log, std::ostream& out)
      : report_(store.tasks(), clock, out), runner_(clock, log) {
    runner_.add(report_, waker_);
    runner_.start();
  }

 private:
  Waker waker_;
  DemoReport report_;
  Runner runner_;
};

// Lowers the limit on connections to what the limit on open files allows.
Config within_file_limit(Config config, const Logger& log) {
  const std::size_t files = raise_file_limit();
  std::size_t& connections = config.http.limits.connections;
  const std::size_t possible = connections_within(files);
  if (possible >= connections) return config;
  log.warn("the limit on open files allows fewer connections than http.max_connections; raise it (ulimit -Hn)",
           {{"files", files}, {"max_connections", connections}, {"possible", possible}});
  connections = possible;
  return config;
}

void reload(Node& node, const TlsOptions& tls, const Logger& log) {
  if (tls.certificate.empty()) return log.info("SIGHUP: nothing to reload, because http.tls_certificate is not set");
  const auto reloaded = node.reload_certificates();
  if (reloaded.ok()) {
    log.info("SIGHUP: the certificate was reloaded", {{"certificate", tls.certificate}, {"key", tls.key}});
  } else {
    log.error("SIGHUP: the old certificate stays in use", {{"reason", reloaded.error().message}});
  }
}

// Serves until a signal that stops the node, and returns it.
Result<int> wait_for_the_end(Signals& signals, Node& node, const TlsOptions& tls, const Logger& log) {
  while (true) {
    auto signal = signals.wait();
    if (!signal.ok() || *signal != SIGHUP) return signal;
    reload(node, tls, log);
  }
}

// Runs the node until a signal stops it, and returns the signal.
Result<int> run(Store& store, const Config& given, bool is_demo, const Clock& clock, Signals& signals,
                std::ostream& out, std::ostream& log_to) {
  const auto owner = store.queues().new_worker_id();
  if (!owner.ok()) return owner.error();
  const Logger log = Logger(log_to, clock, given.log).with({{std::string(kNodeField), *owner}});
  const Config config = within_file_limit(given, log);
  if (config.http.plaintext_behind_proxy) {
    log.warn("http.plaintext_behind_proxy: this node serves other machines without TLS; a proxy must encrypt");
  }
  if (const auto warning = store_warning(config.store)) log.warn(*warning);
  Node node(store, clock, config, *owner, log);
  if (auto started = node.start(); !started.ok()) return started.error();
  out << greeting({.owner = *owner,
                   .store = store.description(),
                   .urls = urls_to_open(node.urls(), name_of_machine()),
                   .program = program()},
                  config)
      << std::endl;
  std::optional<Demo> demo;
  if (is_demo) {
    SystemRandom random;
    UuidSource ids(clock, random);
    if (auto submitted = submit_demo(node.store(), ids); !submitted.ok()) return submitted.error();
    demo.emplace(store, clock, log, out);
  }
  auto signal = wait_for_the_end(signals, node, config.http.tls, log);
  if (!node.stop()) log.warn("some tasks did not end in time; they come back when their leases expire");
  return signal;
}

// Adds the queues of the demo to those of the slots.
Result<Config> with_demo_queues(Config config) {
  auto& queues = config.engine.dispatcher.queues;
  for (std::string& queue : demo_queues()) {
    if (std::ranges::find(queues, queue) == queues.end()) queues.push_back(std::move(queue));
  }
  if (queues.size() > kMaxQueuesOfAClaim) {
    return Error{ErrorCode::kRefused,
                 fmt::format("slots take tasks from at most {} queues, and --demo adds {}: reduce slots.queues",
                             kMaxQueuesOfAClaim, fmt::join(demo_queues(), " and "))};
  }
  return config;
}

}  // namespace

Result<void> serve(const Config& given, bool demo, std::ostream& out, std::ostream& log) {
  const auto config = demo ? with_demo_queues(given) : Result<Config>(given);
  if (!config.ok()) return config.error();
  Signals signals;
  if (auto blocked = signals.block(); !blocked.ok()) return blocked;
  const SystemClock clock;
  const auto store = open_store(config->store, clock, config->postgres, config->max_queues);
  if (!store.ok()) return store.error();
  const auto signal = run(**store, *config, demo, clock, signals, out, log);
  if (!signal.ok()) return signal.error();
  out << fmt::format("horae stopped ({}).", *signal == SIGINT ? "SIGINT" : "SIGTERM") << std::endl;
  return {};
}

}  // namespace horae
