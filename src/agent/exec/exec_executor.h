// Runs programs: {"run": "exec", "argv": [...]} (agent/exec/exec_spec.h).
//
// Ends of a run: done with what the program left in HORAE_RESULT, or with exit code, seconds and the last output; failed
// with `bad_spec`, `not_allowed`, `cannot_start`, `exit_code`, `signal`, `timed_out` or `bad_result`; stopped.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "agent/exec/exec_rules.h"
#include "agent/exec/exec_run.h"
#include "agent/processes/warden.h"
#include "engine/slots/executor.h"

namespace horae::agent {

// One thread watches all programs. The destructor kills them, and calls no OnEnd any more.
class ExecExecutor final : public Executor {
 public:
  // `folder` exists, belongs to this agent alone, and gets a folder for each run. All must outlive this.
  ExecExecutor(const ExecRules& rules, Duration grace, std::string folder, const ProcessStarter& starter,
               const Clock& clock);
  ~ExecExecutor() override;
  ExecExecutor(const ExecExecutor&) = delete;
  ExecExecutor& operator=(const ExecExecutor&) = delete;

  void start(ChoreId run, const LeasedTask& task, MonotonicTime now, OnEnd on_end) override;
  void stop(ChoreId run, MonotonicTime now) override;
  RunProgress progress(ChoreId run, MonotonicTime now) override;

 private:
  struct Held {
    std::unique_ptr<ExecRun> run;
    OnEnd on_end;
  };

  Result<std::unique_ptr<ExecRun>> begin(ExecSpec spec, const LeasedTask& task, MonotonicTime now) const;
  void watch();                                // the thread
  MonotonicTime check_all(MonotonicTime now);  // calls the OnEnd of runs that have ended
  void poll_until(MonotonicTime deadline);
  void wake() const;

  const ExecRules& rules_;
  const Duration grace_;
  const std::string folder_;
  const ProcessStarter& starter_;
  const Clock& clock_;
  Descriptor woken_;  // an eventfd
  std::atomic<bool> is_ending_ = false;
  std::mutex mutex_;
  std::map<ChoreId, Held> runs_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace horae::agent
