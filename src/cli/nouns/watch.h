// Waiting for a task to end, with its progress on a terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/client/client.h"
#include "cli/commands.h"
#include "cli/client/replies.h"

namespace horae::cli {

struct WatchOptions {
  std::string id;
  std::optional<Duration> limit = {};  // how long to wait at most
  bool json = false;                   // print the task at its end as the node's exact bytes
};

// Follows the node's events until the task has ended (a recurring one does not), and tells on `err` how it stands:
// with a bar that moves on a terminal, else with a line for each change. A node that goes away is waited for for a
// while. Answers what to exit with: kDone if it completed, kNotCompleted if it did not, or not in time.
int watch_task(const Context& context, std::string_view command, NodeClient& client, const WatchOptions& options);

// "[#####---------------]  25 %  running on worker-7, attempt 1, 25 %", with a bar of `width` columns.
std::string progress_bar(const TaskReply& task, std::size_t width = 30);

}  // namespace horae::cli
