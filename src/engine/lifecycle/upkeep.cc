#include "engine/lifecycle/upkeep.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json_text.h"
#include "engine/slots/spec.h"

namespace horae {
namespace {

std::string spec_of(std::string_view job, std::string_view began) {
  std::string spec = R"({"run":"internal","job":)";
  append_json_string(spec, job);
  spec += R"(,"began":)";
  append_json_string(spec, began);
  return spec + "}";
}

std::string result_of(std::string_view output) {
  std::string result = R"({"output":)";
  append_json_string(result, output);
  return result + "}";
}

void add_line(std::string& output, std::string_view line) {
  if (!line.empty() && output.size() + line.size() < kMaxUpkeepOutput) output.append(line).append("\n");
}

}  // namespace

UpkeepJob retention_job(TaskStore& tasks, std::size_t batch) {
  const auto step = [&tasks, batch]() -> Result<UpkeepStep> {
    const auto outcome = tasks.purge(batch);
    if (!outcome.ok()) return outcome.error();
    if (outcome->purged == 0) return UpkeepStep{.did = {}, .more = outcome->more};
    return UpkeepStep{
        .did = fmt::format("purged {} finished {}", outcome->purged, outcome->purged == 1 ? "task" : "tasks"),
        .more = outcome->more};
  };
  return {.name = "retention", .step = step};
}

Upkeep::Upkeep(Parts parts, std::string owner, Duration lease, Logger log, std::vector<UpkeepJob> jobs)
    : tasks_(parts.tasks),
      ids_(parts.ids),
      add_chore_(std::move(parts.add_chore)),
      wake_(std::move(parts.wake)),
      owner_(std::move(owner)),
      lease_(lease),
      log_(std::move(log)) {
  for (UpkeepJob& job : jobs) jobs_.push_back({.job = std::move(job), .next = {}, .unrecorded = {}, .run = {}});
}

MonotonicTime Upkeep::run_once(MonotonicTime now) {
  for (Job& job : jobs_) {
    std::optional<ChoreId> run;
    {
      const std::lock_guard lock(mutex_);
      run = job.run;
    }
    if (run) {
      go_on(job, *run, now);
    } else if (job.unrecorded) {
      record(job);
    } else if (now >= job.next) {
      begin_pass(job, now);
    }
  }
  return next_run(now);
}

void Upkeep::begin_pass(Job& job, MonotonicTime now) {
  job.next = now + job.job.interval;
  const auto step = job.job.step();
  if (!step.ok()) {
    log_.warn("upkeep failed", {{"job", job.job.name}, {"reason", step.error().message}});
    return;
  }
  if (step->did.empty()) return;
  log_.info(step->did, {{"job", job.job.name}});
  job.unrecorded =
      Submission{.task = {.queue = kInternalQueue, .spec = spec_of(job.job.name, step->did), .max_attempts = 1},
                 .new_id = ids_.next(),
                 .start = Start{.owner = owner_, .token = ids_.next(), .lease = lease_}};
  record(job);
}

void Upkeep::record(Job& job) {
  const Submission& wanted = *job.unrecorded;
  const auto outcomes = tasks_.submit(std::span(&wanted, 1));
  if (!outcomes.ok() && outcomes.error().retryable()) return;  // again under the same id
  const Submission submission = *std::exchange(job.unrecorded, std::nullopt);
  if (!outcomes.ok()) {
    log_.warn("upkeep cannot be recorded", {{"job", job.job.name}, {"reason", outcomes.error().message}});
    return;
  }
  const SubmitOutcome& outcome = outcomes->front();
  // A first answer was lost, and so, by now, is the lease; or there are too many queues.
  if (outcome.state != State::kRunning || outcome.kind == SubmitOutcome::Kind::kOverLimit) return;
  add_chore_({.id = outcome.id,
              .number = outcome.number,
              .queue = submission.task.queue,
              .priority = submission.task.priority,
              .spec = submission.task.spec,
              .attempt = 1,
              .checkpoint = std::nullopt,
              .lease_expires = {}});
}

void Upkeep::start(ChoreId run, const LeasedTask& task, MonotonicTime now, OnEnd on_end) {
  const auto name = read_spec_text(task.spec, "job");
  const auto began = read_spec_text(task.spec, "began");
  const auto job = std::ranges::find_if(jobs_, [&](const Job& each) { return name.ok() && each.job.name == *name; });
  if (job == jobs_.end() || !began.ok()) return on_end(run_failed("unsupported_spec", "no such internal task"));
  bool is_busy = false;
  {
    const std::lock_guard lock(mutex_);
    is_busy = job->run.has_value();
    if (!is_busy) {
      job->run = run;
      runs_.emplace(run, Run{.on_end = on_end, .output = *began + "\n", .next = now + job->job.breath});
    }
  }
  if (is_busy) return on_end(run_failed("busy", "another pass is under way"));
  wake_();
}

void Upkeep::stop(ChoreId run, MonotonicTime) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(run);
    if (found == runs_.end()) return;
    found->second.is_stopping = true;
  }
  wake_();
}

RunProgress Upkeep::progress(ChoreId, MonotonicTime) { return {}; }

void Upkeep::go_on(Job& job, ChoreId run, MonotonicTime now) {
  bool is_stopping = false;
  {
    const std::lock_guard lock(mutex_);
    is_stopping = runs_.at(run).is_stopping;
    if (!is_stopping && now < runs_.at(run).next) return;
  }
  if (is_stopping) return end(job, run, false, "stopped; the next pass continues");
  const auto step = job.job.step();
  if (!step.ok()) {
    log_.warn("upkeep failed", {{"job", job.job.name}, {"reason", step.error().message}});
    return end(job, run, true, step.error().message);
  }
  if (!step->more) return end(job, run, false, step->did);
  const std::lock_guard lock(mutex_);
  add_line(runs_.at(run).output, step->did);
  runs_.at(run).next = now + job.job.breath;
}

void Upkeep::end(Job& job, ChoreId run, bool is_failed, std::string_view last_line) {
  Run ended;
  {
    const std::lock_guard lock(mutex_);
    ended = std::move(runs_.extract(run).mapped());
    job.run.reset();
  }
  add_line(ended.output, last_line);
  ended.on_end(is_failed ? run_failed("upkeep_failed", std::move(ended.output)) : run_done(result_of(ended.output)));
}

MonotonicTime Upkeep::next_run(MonotonicTime now) {
  constexpr Duration kRetry = std::chrono::seconds(1);  // a record that the store has not taken yet
  MonotonicTime next = now + std::chrono::minutes(1);
  const std::lock_guard lock(mutex_);
  for (const Job& job : jobs_) {
    if (job.run) {
      next = std::min(next, runs_.at(*job.run).next);
    } else {
      next = std::min(next, job.unrecorded ? now + kRetry : job.next);
    }
  }
  return next;
}

}  // namespace horae
