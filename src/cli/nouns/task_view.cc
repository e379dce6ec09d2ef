#include "cli/nouns/task_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "base/time_text.h"
#include "cli/terminal/table.h"

namespace horae::cli {
namespace {

std::string attempts_of(const TaskReply& task) {
  if (task.max_attempts == 0 && task.tries == 0) return fmt::format("{}", task.attempt);
  if (task.max_attempts == 0) return fmt::format("{} ({} tries used up)", task.attempt, task.tries);
  return fmt::format("{} ({} of {} tries used up)", task.attempt, task.tries, task.max_attempts);
}

// "exponential, delay 1s, factor 2, cap 1h, jitter 0.5"; without retries only "none".
std::string retry_of(const TaskReply& task) {
  std::string text;
  for (const Member& member : task.retry) {
    if (member.name != "kind") {
      text += fmt::format(", {} {}", member.name, text_of(member));
    } else if (const std::string kind = text_of(member); kind == "none") {
      return "none";
    } else {
      text.insert(0, kind);
    }
  }
  return text;
}

std::string summary_of(const ErrorReply& error) {
  return error.description.empty() ? error.code : error.code + ": " + error.description;
}

std::string details_of(const ErrorReply& error) {
  const bool has_args = !error.args.empty() && error.args != "{}";
  return has_args ? summary_of(error) + " " + error.args : summary_of(error);
}

std::string label_of(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

// Adds a member that has a form of its own, or that such a form or the table of the history contains. False for others.
bool add_special(Fields& fields, const TaskReply& task, std::string_view name) {
  if (name == "state") {
    fields.add("state", task.state, colour_of(task.state));
  } else if (name == "progress") {
    fields.add("progress", percent(task.progress));
  } else if (name == "attempt") {
    fields.add("attempt", attempts_of(task));
  } else if (name == "retry") {
    fields.add("retry", retry_of(task));
  } else if (name == "errors") {
    for (const ErrorReply& error : task.errors) fields.add("error", details_of(error), Colour::kRed);
  } else {
    return name == "tries" || name == "max_attempts" || name == "history" || name == "history_omitted";
  }
  return true;
}

void show_history(const Console& console, const TaskReply& task) {
  if (task.history.empty()) return;
  Table table({{"TIME"}, {"EVENT"}, {"ATTEMPT", Align::kRight}, {"WORKER"}, {"PROGRESS", Align::kRight}, {"DETAIL"}});
  for (const HistoryReply& entry : task.history) {
    table.add({{entry.time},
               {entry.kind},
               {std::to_string(entry.attempt)},
               {entry.worker},
               {entry.progress ? percent(*entry.progress) : ""},
               {entry.detail}});
  }
  console.out << '\n';
  table.print(console);
  if (task.history_omitted > 0) console.out << fmt::format("({} entries are left out)\n", task.history_omitted);
}

// Shown before all others.
constexpr std::array<std::string_view, 6> kFirst = {"id", "key", "queue", "state", "priority", "progress"};

// JSON of clients, shown as its exact bytes.
constexpr std::array<std::string_view, 3> kOfClients = {"spec", "result", "checkpoint"};

void add_member(Fields& fields, const TaskReply& task, const Member& member) {
  if (add_special(fields, task, member.name)) return;
  if (std::ranges::find(kOfClients, member.name) == kOfClients.end()) {
    fields.add(label_of(member.name), text_of(member));
  } else if (member.json != "null" || member.name == "spec") {  // a spec may be null
    fields.add(label_of(member.name), member.json);
  }
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
    line += ": " + printable(summary_of(task.errors.front()));
  } else if (task.state == "cancelled" && !task.cancel_reason.empty()) {
    line += ": " + printable(task.cancel_reason);
  }
  return line;
}

// Every member is shown, also one that is new to the node: a field of a task needs no row here.
void show_task(const Console& console, const TaskReply& task) {
  std::vector<Member> members = task.members;
  std::ranges::stable_sort(
      members, {}, [](const Member& member) { return std::ranges::find(kFirst, member.name) - kFirst.begin(); });
  Fields fields;
  for (const Member& member : members) add_member(fields, task, member);
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
  if (!page.next.empty())
    console.out << "There are more tasks; for the next page: --cursor " << printable(page.next) << '\n';
}

}  // namespace horae::cli
