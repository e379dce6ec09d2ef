// horae task watch: waits for a task to end and shows its progress. `task submit --wait` does the same.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cli/client/client.h"
#include "cli/client/replies.h"
#include "cli/commands.h"

namespace horae::cli {

struct WatchOptions {
  std::string id;
  std::optional<Duration> limit = {};  // the maximum time to wait; nothing: no limit
  bool json = false;                   // print the node's JSON of the task when it has ended
};

// Follows the node's events until the task has ended (a recurring one never does). Shows the progress on `err`: as a
// bar that is redrawn on a terminal, else as a line for each change. Retries for a while if the node is unavailable.
// Returns the exit code: kDone if the task completed, kNotCompleted if it did not, kStillWaiting if the
// limit has passed.
int watch_task(const Context& context, std::string_view command, NodeClient& client, const WatchOptions& options);

// "[#####---------------]  25 %  running on worker-7, attempt 1, 25 %", with a bar of `width` columns.
std::string progress_bar(const TaskReply& task, std::size_t width = 30);

void add_watch(CLI::App& noun, Context& context);

}  // namespace horae::cli
