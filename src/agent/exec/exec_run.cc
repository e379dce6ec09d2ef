#include "agent/exec/exec_run.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "api/json/json_writer.h"
#include "base/duration.h"

namespace horae::agent {
namespace {

constexpr Duration kDrain = std::chrono::seconds(1);  // for output and for what the program left, after its end
constexpr Duration kIdle = std::chrono::minutes(1);
constexpr int kMaxReads = 8;  // in a row, so that one that writes without end does not hold up the others

std::string_view name_of(ProcessReport::Step step) {
  switch (step) {
    case ProcessReport::Step::kFork:
      return "no process could be made";
    case ProcessReport::Step::kFolder:
      return "the working directory cannot be entered";
    case ProcessReport::Step::kLimit:
      return "a limit cannot be set";
    case ProcessReport::Step::kUser:
      return "the user cannot be changed";
    case ProcessReport::Step::kExec:
      return "the program cannot be executed";
  }
  return "";
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : std::to_string(signal);
}

}  // namespace

ExecRun::ExecRun(Parts parts)
    : parts_(std::move(parts)), output_(std::move(parts_.secrets)), last_progress_(parts_.begin) {}

void ExecRun::read_control(MonotonicTime now) {
  while (parts_.process.control.is_open()) {
    const auto message = receive_message(parts_.process.control.number());
    if (!message.ok() && message.error().code == ErrorCode::kOverLimit) return;
    const auto report = message.ok() ? read_process_report(message->text) : Result<ProcessReport>(message.error());
    if (report.ok()) {
      note(*report, now);
    } else {
      parts_.process.control.close();  // the shim has ended, and with it all processes of the run
    }
  }
}

void ExecRun::note(const ProcessReport& report, MonotonicTime now) {
  if (report.kind == ProcessReport::Kind::kNotStarted) start_failure_ = report;
  if (report.kind == ProcessReport::Kind::kEnded) ended_ = report;
  if (report.kind != ProcessReport::Kind::kStarted) drained_at_ = now + kDrain;
}

void ExecRun::read_output(MonotonicTime now) {
  std::array<char, 65536> piece{};
  for (int i = 0; i < kMaxReads && parts_.process.output.is_open(); ++i) {
    const ssize_t got = ::read(parts_.process.output.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got > 0) {
      output_.take({piece.data(), static_cast<std::size_t>(got)});
    } else {
      parts_.process.output.close();
    }
  }
  if (output_.progress_lines() > progress_lines_) last_progress_ = now;
  progress_lines_ = output_.progress_lines();
}

void ExecRun::ask(char what) {
  if (parts_.process.control.is_open()) (void)send_message(parts_.process.control.number(), {&what, 1});
}

void ExecRun::terminate(Reason reason, MonotonicTime now) {
  if (reason_ != Reason::kNone) return;
  reason_ = reason;
  kill_at_ = now + parts_.grace;
  ask(kAskTerminate);
}

void ExecRun::stop(MonotonicTime now) { terminate(Reason::kStopped, now); }

MonotonicTime ExecRun::check(MonotonicTime now) {
  MonotonicTime next = now + kIdle;
  const auto due = [&](std::optional<MonotonicTime> at) {
    if (at && *at > now) next = std::min(next, *at);
    return at && *at <= now;
  };
  if (drained_at_) {
    (void)due(drained_at_);
    return next;
  }
  const ExecSpec& spec = parts_.spec;
  if (spec.timeout && due(parts_.begin + *spec.timeout)) terminate(Reason::kTimedOut, now);
  if (spec.progress_timeout && due(last_progress_ + *spec.progress_timeout)) terminate(Reason::kNoProgress, now);
  if (due(kill_at_)) {
    kill_at_.reset();
    ask(kAskKill);
  }
  if (kill_at_) next = std::min(next, *kill_at_);
  return next;
}

RunProgress ExecRun::progress() {
  return {.progress = output_.progress(), .checkpoint = parts_.folder.new_checkpoint()};
}

std::optional<RunEnd> ExecRun::end(MonotonicTime now) {
  const bool is_gone = !parts_.process.control.is_open();
  if (is_gone && !ended_ && !start_failure_) return run_stopped(progress());  // the shim was killed
  if (!drained_at_) return std::nullopt;
  if ((!is_gone || parts_.process.output.is_open()) && now < *drained_at_) return std::nullopt;
  output_.finish();
  if (start_failure_) {
    return run_failed("cannot_start", fmt::format("{}: {}: {}", parts_.spec.argv.front(), name_of(start_failure_->step),
                                                  std::strerror(start_failure_->error)));
  }
  return end_of_process(now);
}

RunEnd ExecRun::end_of_process(MonotonicTime now) {
  if (ended_->was_terminated != 0) {
    if (reason_ == Reason::kStopped) return run_stopped(progress());
    if (reason_ == Reason::kTimedOut) {
      return failed("timed_out", fmt::format("ran longer than {}", format_duration(*parts_.spec.timeout)), now);
    }
    if (reason_ == Reason::kNoProgress) {
      return failed("timed_out", fmt::format("no progress for {}", format_duration(*parts_.spec.progress_timeout)),
                    now);
    }
  }
  const int status = ended_->status;
  if (WIFSIGNALED(status)) {
    return failed("signal", fmt::format("was ended by {}", signal_name(WTERMSIG(status))), now);
  }
  const int code = WEXITSTATUS(status);
  if (std::ranges::count(parts_.spec.success_codes, code) == 0) {
    return failed("exit_code", fmt::format("exited with {}", code), now);
  }
  return end_of_success(now);
}

RunEnd ExecRun::end_of_success(MonotonicTime now) {
  auto result = parts_.folder.result();
  if (!result.ok()) return failed("bad_result", "HORAE_RESULT: " + result.error().message, now);
  return run_done(*result ? std::move(**result) : facts(now));
}

std::string ExecRun::facts(MonotonicTime now) const {
  std::string json;
  JsonObject object(json);
  if (WIFSIGNALED(ended_->status)) {
    object.add("signal", signal_name(WTERMSIG(ended_->status)));
  } else {
    object.add("exit_code", WEXITSTATUS(ended_->status));
  }
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now - parts_.begin);
  object.add("seconds", static_cast<double>(passed.count()) / 1000);
  object.add("output", output_.tail());
  object.add("output_bytes", output_.bytes());
  object.end();
  return json;
}

RunEnd ExecRun::failed(std::string code, std::string description, MonotonicTime now) const {
  RunEnd end = run_failed(std::move(code), std::move(description));
  end.errors.front().args = facts(now);
  return end;
}

}  // namespace horae::agent
