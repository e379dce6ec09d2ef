#include "agent/exec/exec_executor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace horae::agent {
namespace {

std::string code_of(const Error& error) {
  if (error.code == ErrorCode::kForbidden) return "not_allowed";
  return error.code == ErrorCode::kMalformed ? "bad_spec" : "cannot_start";
}

int milliseconds_until(MonotonicTime deadline, MonotonicTime now) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace

ExecExecutor::ExecExecutor(const ExecRules& rules, Duration grace, std::string folder, const ProcessStarter& starter,
                           const Clock& clock)
    : rules_(rules),
      grace_(grace),
      folder_(std::move(folder)),
      starter_(starter),
      clock_(clock),
      woken_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  HORAE_CHECK(woken_.is_open(), "an agent has descriptors at its begin");
  thread_ = std::thread([this] { watch(); });
}

ExecExecutor::~ExecExecutor() {
  is_ending_ = true;
  wake();
  thread_.join();
}

void ExecExecutor::start(ChoreId run, const LeasedTask& task, MonotonicTime now, OnEnd on_end) {
  auto spec = read_exec_spec(task.spec);
  if (!spec.ok()) return on_end(run_failed("bad_spec", spec.error().message));
  auto begun = begin(std::move(*spec), task, now);
  if (!begun.ok()) return on_end(run_failed(code_of(begun.error()), begun.error().message));
  {
    const std::lock_guard lock(mutex_);
    runs_.emplace(run, Held{.run = std::move(*begun), .on_end = std::move(on_end)});
  }
  wake();
}

Result<std::unique_ptr<ExecRun>> ExecExecutor::begin(ExecSpec spec, const LeasedTask& task, MonotonicTime now) const {
  auto program = rules_.program_of(spec.argv);
  if (!program.ok()) return program.error();
  std::vector<std::string> secrets;
  std::map<std::string, std::string> environment = rules_.environment();
  for (const auto& [name, value] : spec.environment) environment[name] = value;
  for (const auto& [name, secret] : spec.secrets) {
    auto value = rules_.secret(secret);
    if (!value.ok()) return value.error();
    secrets.push_back(*value);
    environment[name] = std::move(*value);
  }
  auto folder = RunFolder::make(fmt::format("{}/{}-{}", folder_, to_string(task.id), task.attempt), task.checkpoint,
                                rules_.user());
  if (!folder.ok()) return folder.error();
  environment["HORAE_TASK_ID"] = to_string(task.id);
  environment["HORAE_ATTEMPT"] = std::to_string(task.attempt);
  environment["HORAE_QUEUE"] = task.queue;
  environment["HORAE_CHECKPOINT"] = folder->checkpoint_path();
  environment["HORAE_RESULT"] = folder->result_path();
  ProcessRequest request{.program = std::move(*program),
                         .argv = spec.argv,
                         .environment = {},
                         .folder = spec.folder.empty() ? folder->path() : spec.folder,
                         .user = rules_.user(),
                         .limits = spec.limits};
  for (const auto& [name, value] : environment) request.environment.push_back(fmt::format("{}={}", name, value));
  const auto input = make_memory_file(spec.input);
  if (!input.ok()) return input.error();
  auto process = starter_.start(request, *input);
  if (!process.ok()) return process.error();
  const Duration grace = spec.grace.value_or(grace_);
  return std::make_unique<ExecRun>(ExecRun::Parts{.spec = std::move(spec),
                                                  .process = std::move(*process),
                                                  .folder = std::move(*folder),
                                                  .secrets = std::move(secrets),
                                                  .grace = grace,
                                                  .begin = now});
}

void ExecExecutor::stop(ChoreId run, MonotonicTime now) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(run);
    if (found == runs_.end()) return;
    found->second.run->stop(now);
  }
  wake();
}

RunProgress ExecExecutor::progress(ChoreId run, MonotonicTime) {
  const std::lock_guard lock(mutex_);
  const auto found = runs_.find(run);
  return found == runs_.end() ? RunProgress{} : found->second.run->progress();
}

void ExecExecutor::watch() {
  while (!is_ending_) poll_until(check_all(clock_.now()));
}

MonotonicTime ExecExecutor::check_all(MonotonicTime now) {
  MonotonicTime next = now + std::chrono::minutes(1);
  std::vector<std::pair<OnEnd, RunEnd>> ended;
  {
    const std::lock_guard lock(mutex_);
    for (auto each = runs_.begin(); each != runs_.end();) {
      next = std::min(next, each->second.run->check(now));
      auto end = each->second.run->end(now);
      if (end) {
        ended.emplace_back(std::move(each->second.on_end), std::move(*end));
        each = runs_.erase(each);
      } else {
        ++each;
      }
    }
  }
  for (auto& [on_end, end] : ended) on_end(std::move(end));
  return next;
}

void ExecExecutor::poll_until(MonotonicTime deadline) {
  std::vector<pollfd> events = {{.fd = woken_.number(), .events = POLLIN, .revents = 0}};
  std::vector<ChoreId> ids;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, held] : runs_) {
      ids.push_back(id);
      events.push_back({.fd = held.run->control(), .events = POLLIN, .revents = 0});
      events.push_back({.fd = held.run->output(), .events = POLLIN, .revents = 0});
    }
  }
  if (::poll(events.data(), events.size(), milliseconds_until(deadline, clock_.now())) <= 0) return;
  if (events[0].revents != 0) {
    std::uint64_t count = 0;
    (void)!::read(woken_.number(), &count, sizeof count);
  }
  const MonotonicTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto found = runs_.find(ids[i]);  // only this thread removes runs
    // The output first: what the program wrote before its end is read before that end counts.
    if (events[2 * i + 2].revents != 0) found->second.run->read_output(now);
    if (events[2 * i + 1].revents != 0) found->second.run->read_control(now);
  }
}

void ExecExecutor::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(woken_.number(), &one, sizeof one);
}

}  // namespace horae::agent
