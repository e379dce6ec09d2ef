// One run of a program, from its start to the end of its last process.
#pragma once

#include <optional>
#include <string>

#include "agent/exec/exec_spec.h"
#include "agent/exec/run_folder.h"
#include "agent/exec/run_output.h"
#include "agent/processes/warden.h"
#include "engine/slots/executor.h"

namespace horae::agent {

// Has no thread and blocks nowhere: its owner says when a descriptor can be read and what time it is.
//
// Not thread-safe.
class ExecRun {
 public:
  struct Parts {
    ExecSpec spec;
    StartedProcess process;
    RunFolder folder;
    std::vector<std::string> secrets;  // to mask
    Duration grace;
    MonotonicTime begin;
  };

  explicit ExecRun(Parts parts);

  // Descriptors to poll for reading; -1 for one that has ended.
  int control() const { return parts_.process.control.number(); }
  int output() const { return parts_.process.output.number(); }

  void read_control(MonotonicTime now);
  void read_output(MonotonicTime now);

  // Asks the program to end: SIGTERM, and SIGKILL after the grace time.
  void stop(MonotonicTime now);

  // Does what is due. Returns when something is due next.
  MonotonicTime check(MonotonicTime now);

  RunProgress progress();

  // How it ended; nothing while it runs. If the run was lost, because its shim was killed, it is kStopped, although
  // nothing asked for that.
  std::optional<RunEnd> end(MonotonicTime now);

 private:
  enum class Reason { kNone, kStopped, kTimedOut, kNoProgress };

  void terminate(Reason reason, MonotonicTime now);
  void ask(char what);
  void note(const ProcessReport& report, MonotonicTime now);
  RunEnd end_of_process(MonotonicTime now);
  RunEnd end_of_success(MonotonicTime now);
  std::string facts(MonotonicTime now) const;  // JSON: exit code or signal, seconds, output
  RunEnd failed(std::string code, std::string description, MonotonicTime now) const;

  Parts parts_;
  RunOutput output_;
  MonotonicTime last_progress_;
  std::size_t progress_lines_ = 0;
  Reason reason_ = Reason::kNone;
  std::optional<MonotonicTime> kill_at_;
  std::optional<ProcessReport> start_failure_;
  std::optional<ProcessReport> ended_;
  std::optional<MonotonicTime> drained_at_;  // the latest time at which it is over
};

}  // namespace horae::agent
