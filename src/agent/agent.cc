#include "agent/agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>

#include "agent/exec/exec_executor.h"
#include "base/bounded_queue.h"
#include "base/duration.h"
#include "base/quote.h"
#include "base/uuid.h"
#include "base/waker.h"
#include "engine/runner.h"
#include "engine/slots/executors.h"
#include "engine/slots/sleep_executor.h"

namespace horae::agent {
namespace {

constexpr std::size_t kMaxTokenBytes = 1 << 12;
constexpr Duration kCallTime = std::chrono::seconds(5);
constexpr int kKilled = 130;  // the exit code after a second signal

// Waits for signals on a thread of its own.
class SignalThread {
 public:
  // `on_first` is called once, on that thread.
  explicit SignalThread(std::function<void()> on_first) : on_first_(std::move(on_first)), thread_([this] { run(); }) {}
  ~SignalThread() {
    is_ending_ = true;
    ::pthread_kill(thread_.native_handle(), SIGHUP);
    thread_.join();
  }
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

  bool has_come() const { return has_come_; }

 private:
  void run() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
    while (true) {
      int signal = 0;
      ::sigwait(&set, &signal);
      if (is_ending_) return;
      if (signal == SIGHUP) continue;
      if (has_come_.exchange(true)) ::_exit(kKilled);  // the shims see the end, and kill
      on_first_();
    }
  }

  const std::function<void()> on_first_;
  std::atomic<bool> is_ending_ = false;
  std::atomic<bool> has_come_ = false;
  std::thread thread_;
};

class LoopOf final : public Loop {
 public:
  LoopOf(std::string_view name, std::function<MonotonicTime(MonotonicTime)> run) : name_(name), run_(std::move(run)) {}
  std::string_view name() const override { return name_; }
  MonotonicTime run_once(MonotonicTime now) override { return run_(now); }

 private:
  std::string_view name_;
  std::function<MonotonicTime(MonotonicTime)> run_;
};

// Whether the node takes tasks from callers without a token. Nothing if it does not answer.
std::optional<bool> takes_strangers(const std::string& node, const std::string& ca_file) {
  HttpClient http({.ca_file = ca_file});
  const auto answer = http.send({.url = node + "/v1/scheduler", .timeout = kCallTime});
  if (!answer.ok()) return std::nullopt;
  return answer->status != 401 && answer->status != 403;
}

Result<void> check_nodes(const NodeList& nodes, const ExecRules& rules) {
  if (!rules.allows_free_arguments()) return {};
  for (const std::string& node : nodes.options().nodes) {
    if (takes_strangers(node, nodes.options().ca_file).value_or(false)) {
      return Error{ErrorCode::kRefused,
                   fmt::format("{} takes tasks from callers without a token, so anybody on its machine could run the "
                               "programs of this agent with any arguments: set http.require_token there, or allow "
                               "complete commands (agent.commands) instead of agent.programs",
                               node)};
    }
  }
  return {};
}

// The folder of the runs, without what an agent that was killed left in it.
Result<std::string> empty_runs_folder(const std::string& data) {
  const std::string path = std::filesystem::absolute(data).string() + "/runs";
  std::error_code failed;
  std::filesystem::remove_all(path, failed);
  std::filesystem::create_directories(path, failed);
  if (failed) return Error{ErrorCode::kUnavailable, fmt::format("{}: {}", path, failed.message())};
  std::filesystem::permissions(path, std::filesystem::perms(0711), failed);
  return path;
}

// Tries until a node answers; nothing if a signal comes first.
Result<std::optional<std::string>> register_worker(NodeLink& link, Backoff& backoff, Waker& waker,
                                                   const SignalThread& signals, const AgentParts& parts) {
  while (!signals.has_come()) {
    const auto answer = link.post("/v1/workers", "{}", kCallTime);
    if (answer.ok()) {
      auto id = read_worker_id(*answer);
      if (!id.ok()) return id.error();
      return std::optional(std::move(*id));
    }
    if (answer.error().code != ErrorCode::kUnavailable) return answer.error();
    parts.log.warn("no node answers", {{"reason", answer.error().message}});
    (void)waker.wait(parts.clock.now() + backoff.next());
  }
  return std::optional<std::string>();
}

// All that runs once the agent has its id.
class Machinery {
 public:
  Machinery(const AgentOptions& options, const AgentParts& parts, const std::string& owner, const std::string& runs,
            const NodeList& nodes, NodeCalls& claims, NodeCalls& reports, Journal& journal)
      : log_(parts.log.with({{std::string(kAgentField), owner}})),
        programs_(parts.rules.allows_anything() ? std::make_unique<ExecExecutor>(parts.rules, options.exec.grace, runs,
                                                                                 parts.starter, parts.clock)
                                                : nullptr),
        executors_(executors()),
        ids_(parts.clock, parts.random),
        worker_(worker_options(options), owner,
                {.claims = claims,
                 .reports = reports,
                 .executor = executors_,
                 .journal = journal,
                 .clock = parts.clock,
                 .ids = ids_,
                 .random = parts.random,
                 .log = log_,
                 .last_contact = [&nodes] { return nodes.last_contact(); },
                 .wake_claims = [this] { claim_waker_.wake(); },
                 .wake_reports = [this] { report_waker_.wake(); },
                 .on_exit = [this](WorkerExit exit) { (void)exits_.try_push(WorkerExit(exit)); }}),
        runner_(parts.clock, log_) {
    runner_.add(sleeps_, sleep_waker_);
    runner_.add(reporting_, report_waker_);
    runner_.add(claiming_, claim_waker_);
  }

  void start() { runner_.start(); }
  void drain() { worker_.drain(); }
  WorkerExit wait() { return exits_.pop().value_or(WorkerExit::kDrained); }
  void stop() { runner_.stop(); }

 private:
  static WorkerOptions worker_options(const AgentOptions& options) {
    WorkerOptions worker = options.worker;
    if (options.stops_on_lost_contact) worker.contact_timeout = options.contact_timeout;
    return worker;
  }
  std::map<std::string, Executor*, std::less<>> executors() {
    std::map<std::string, Executor*, std::less<>> by_name = {{"sleep", &sleeps_}};
    if (programs_) by_name["exec"] = programs_.get();
    return by_name;
  }

  const Logger log_;
  Waker sleep_waker_;
  Waker claim_waker_;
  Waker report_waker_;
  BoundedQueue<WorkerExit> exits_{1};
  SleepExecutor sleeps_{[this] { sleep_waker_.wake(); }};
  const std::unique_ptr<ExecExecutor> programs_;
  Executors executors_;
  UuidSource ids_;
  Worker worker_;
  LoopOf claiming_{"claims", [this](MonotonicTime now) { return worker_.claim_once(now); }};
  LoopOf reporting_{"reports", [this](MonotonicTime now) { return worker_.report_once(now); }};
  Runner runner_;
};

}  // namespace

Result<std::string> read_token(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  auto text =
      file.is_open() ? read_rest(file.number(), kMaxTokenBytes) : Result<std::string>(Error{ErrorCode::kMalformed, ""});
  if (!text.ok()) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("{}: cannot be read; it should hold the secret of a token", quote(path))};
  }
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  if (text->empty()) return Error{ErrorCode::kMalformed, fmt::format("{} is empty", quote(path))};
  return text;
}

Result<void> run_main(const AgentOptions& options, const AgentParts& parts) {
  NodeList nodes({.nodes = options.nodes, .token = parts.token, .ca_file = options.ca_file}, parts.clock);
  auto journal = Journal::open(std::filesystem::absolute(options.data).string() + "/journal", parts.log);
  if (!journal.ok()) return journal.error();
  const auto runs = empty_runs_folder(options.data);
  if (!runs.ok()) return runs.error();

  Waker started;
  std::mutex mutex;
  std::function<void()> on_signal = [&started] { started.wake(); };
  SignalThread signals([&] {
    const std::lock_guard lock(mutex);
    on_signal();
  });
  NodeLink claims(nodes);
  NodeLink reports(nodes);
  Backoff backoff(parts.random);
  const auto owner = register_worker(reports, backoff, started, signals, parts);
  if (!owner.ok()) return owner.error();
  if (!*owner) return {};
  if (auto checked = check_nodes(nodes, parts.rules); !checked.ok()) return checked.error();

  Machinery machinery(options, parts, **owner, *runs, nodes, claims, reports, *journal);
  {
    const std::lock_guard lock(mutex);
    on_signal = [&machinery] { machinery.drain(); };
  }
  if (signals.has_come()) machinery.drain();
  machinery.start();
  parts.out << fmt::format("horae agent {} is running: {} slots, queues {}, nodes {}\n", **owner, options.worker.slots,
                           fmt::join(options.worker.queues, ", "), fmt::join(nodes.options().nodes, ", "))
            << std::flush;
  const WorkerExit exit = machinery.wait();
  {
    const std::lock_guard lock(mutex);
    on_signal = [] {};
  }
  if (exit == WorkerExit::kLostContact) {
    parts.log.error("no contact to a node for too long: all runs are ended",
                    {{"timeout", format_duration(options.contact_timeout)}});
    ::_exit(kLostContact);  // a call to a node may hold up the loops for a while; the runs end with this process
  }
  machinery.stop();
  return {};
}

}  // namespace horae::agent
