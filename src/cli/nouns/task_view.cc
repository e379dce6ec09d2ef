#include "cli/nouns/task_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "base/time_text.h"
#include "cli/terminal/table.h"

namespace horae::cli {
namespace {

std::string attempts_of(const TaskReply& task) {
  if (task.max_attempts == 0) return fmt::format("{}", task.attempt);
  return fmt::format("{} ({} of {} tries used up)", task.attempt, task.tries, task.max_attempts);
}

void show_history(const Console& console, const TaskReply& task) {
  if (task.history.empty()) return;
  Table table({{"TIME"}, {"EVENT"}, {"ATTEMPT", Align::kRight}, {"WORKER"}, {"PROGRESS", Align::kRight}});
  for (const HistoryReply& entry : task.history) {
    table.add({{entry.time},
               {entry.kind},
               {std::to_string(entry.attempt)},
               {entry.worker},
               {entry.progress ? percent(*entry.progress) : ""}});
  }
  console.out << '\n';
  table.print(console);
  if (task.history_omitted > 0) console.out << fmt::format("({} entries are left out)\n", task.history_omitted);
}

}  // namespace

std::string percent(double progress) {
  if (!std::isfinite(progress)) return "?";
  return fmt::format("{:.0f} %", std::floor(progress * 100));
}

std::string age_of(const std::string& time, const std::string& now) {
  const auto then = parse_instant(time);
  const auto present = parse_instant(now);
  if (!then.ok() || !present.ok()) return "";
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*present - *then).count();
  const auto size = std::abs(seconds);
  const std::string_view sign = seconds < 0 ? "-" : "";
  if (size < 120) return fmt::format("{}{}s", sign, size);
  if (size < 7'200) return fmt::format("{}{}m", sign, size / 60);
  if (size < 172'800) return fmt::format("{}{}h", sign, size / 3'600);
  return fmt::format("{}{}d", sign, size / 86'400);
}

std::string standing_of(const TaskReply& task) {
  std::string line = task.state;
  if (task.state == "running") {
    line += fmt::format(" on {}, attempt {}, {}", printable(task.owner), task.attempt, percent(task.progress));
  } else if (task.state == "scheduled") {
    line += " for " + printable(task.run_at);
  } else if (task.state == "aborted" && !task.errors.empty()) {
    line += ": " + printable(task.errors.front());
  } else if (task.state == "cancelled" && !task.cancel_reason.empty()) {
    line += ": " + printable(task.cancel_reason);
  }
  return line;
}

void show_task(const Console& console, const TaskReply& task) {
  Fields fields;
  fields.add("id", task.id);
  fields.add("key", task.key);
  fields.add("queue", task.queue);
  fields.add("state", task.state, colour_of(task.state));
  fields.add("priority", std::to_string(task.priority));
  fields.add("progress", percent(task.progress));
  fields.add("spec", task.spec);
  fields.add("created at", task.created_at);
  fields.add("updated at", task.updated_at);
  fields.add("run at", task.run_at);
  fields.add("recurring", task.recurring);
  fields.add("attempt", attempts_of(task));
  fields.add("owner", task.owner);
  fields.add("started at", task.started_at);
  fields.add("lease expires", task.lease_expires);
  for (const std::string& error : task.errors) fields.add("error", error, Colour::kRed);
  fields.add("result", task.result);
  fields.add("checkpoint", task.checkpoint);
  fields.add("cancel reason", task.cancel_reason);
  fields.print(console);
  show_history(console, task);
}

void show_page(const Console& console, const PageReply& page) {
  if (page.tasks.empty()) {
    console.out << "There are no such tasks" << (page.next.empty() ? ".\n" : " on this page.\n");
  } else {
    Table table({{"ID"},
                 {"QUEUE"},
                 {"STATE"},
                 {"PRIORITY", Align::kRight},
                 {"PROGRESS", Align::kRight},
                 {"ATTEMPT", Align::kRight},
                 {"OWNER"},
                 {"UPDATED", Align::kRight},
                 {"KEY"}});
    for (const TaskReply& task : page.tasks) {
      table.add({{task.id},
                 {task.queue},
                 {task.state, colour_of(task.state)},
                 {std::to_string(task.priority)},
                 {percent(task.progress)},
                 {std::to_string(task.attempt)},
                 {task.owner},
                 {age_of(task.updated_at, page.as_of)},
                 {task.key}});
    }
    table.print(console);
  }
  if (!page.next.empty()) console.out << "There are more: --cursor " << printable(page.next) << '\n';
}

}  // namespace horae::cli
