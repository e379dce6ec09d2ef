// Tasks as people see them.
#pragma once

#include <string>

#include "cli/client/replies.h"
#include "cli/terminal/console.h"

namespace horae::cli {

// All about one task.
void show_task(const Console& console, const TaskReply& task);

// A page of a list, and how to get the next one.
void show_page(const Console& console, const PageReply& page);

// One line: "running on worker-7, attempt 2, 40 %".
std::string standing_of(const TaskReply& task);

// "45 %"
std::string percent(double progress);

// How long before `now` (both as the node writes times): "12s", "5m", "3h", "2d"; "-" before a time that is still to
// come; empty if one of them cannot be read.
std::string age_of(const std::string& time, const std::string& now);

}  // namespace horae::cli
