#include "engine/slots/executors.h"

#include <fmt/format.h>

#include "base/quote.h"
#include "engine/slots/spec.h"

namespace horae {

RunEnd run_done(std::optional<std::string> result) {
  return {.kind = RunEnd::Kind::kDone, .result = std::move(result), .errors = {}, .last = {}};
}

RunEnd run_failed(std::string code, std::string description) {
  return {.kind = RunEnd::Kind::kFailed,
          .result = std::nullopt,
          .errors = {{.code = std::move(code), .args = "{}", .description = std::move(description)}},
          .last = {}};
}

RunEnd run_stopped(RunProgress last) {
  return {.kind = RunEnd::Kind::kStopped, .result = std::nullopt, .errors = {}, .last = std::move(last)};
}

void Executors::start(ChoreId run, const LeasedTask& task, MonotonicTime now, OnEnd on_end) {
  const auto name = read_spec_text(task.spec, "run");
  if (!name.ok()) return on_end(run_failed("unsupported_spec", name.error().message));
  const auto found = by_name_.find(*name);
  if (found == by_name_.end()) {
    return on_end(
        run_failed("unsupported_spec", fmt::format("\"run\" is {}; this node can run: {}", quote(*name), names())));
  }
  {
    const std::lock_guard lock(mutex_);
    runs_[run] = found->second;
  }
  found->second->start(run, task, now, [this, run, end = std::move(on_end)](RunEnd how) {
    {
      const std::lock_guard lock(mutex_);
      runs_.erase(run);
    }
    end(std::move(how));
  });
}

void Executors::stop(ChoreId run, MonotonicTime now) {
  if (Executor* executor = executor_of(run)) executor->stop(run, now);
}

RunProgress Executors::progress(ChoreId run, MonotonicTime now) {
  Executor* executor = executor_of(run);
  return executor == nullptr ? RunProgress{} : executor->progress(run, now);
}

std::string Executors::names() const {
  std::string names;
  for (const auto& [name, executor] : by_name_) names += (names.empty() ? "" : ", ") + name;
  return names;
}

Executor* Executors::executor_of(ChoreId run) {
  const std::lock_guard lock(mutex_);
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : found->second;
}

}  // namespace horae
