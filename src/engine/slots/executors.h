// Passes a task to the executor that its spec names: {"run": "sleep", ...}.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "engine/slots/executor.h"

namespace horae {

// A spec without "run", or with an unknown name, ends as failed: `unsupported_spec`.
class Executors final : public Executor {
 public:
  // The executors must outlive this.
  explicit Executors(std::map<std::string, Executor*, std::less<>> by_name) : by_name_(std::move(by_name)) {}

  void start(ChoreId run, const LeasedTask& task, MonotonicTime now, OnEnd on_end) override;
  void stop(ChoreId run, MonotonicTime now) override;
  RunProgress progress(ChoreId run, MonotonicTime now) override;

 private:
  std::string names() const;  // "exec, sleep"
  Executor* executor_of(ChoreId run);

  const std::map<std::string, Executor*, std::less<>> by_name_;
  std::mutex mutex_;
  std::map<ChoreId, Executor*> runs_;  // guarded by mutex_
};

}  // namespace horae
