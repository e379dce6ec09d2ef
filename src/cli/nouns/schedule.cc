// horae schedule set, get, list, fires, preview, pause, resume, trigger, delete.

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "base/json_text.h"
#include "cli/client/client.h"
#include "cli/client/replies.h"
#include "cli/commands.h"
#include "cli/nouns/task_submit.h"
#include "cli/terminal/table.h"

namespace horae::cli {
namespace {

struct ScheduleFlags {
  ClientOptions client;
  std::string name;
  NewTaskFlags task;
  std::optional<std::string> cron, zone, every, anchor, gap, fold, jitter, missed, window, overlap, starts, ends;
  std::optional<std::int64_t> catch_up;
  bool paused = false;
  int count = 10;
};

constexpr std::array kFlags = {
    FlagOfField{"cron", "--cron"},         FlagOfField{"zone", "--zone"},
    FlagOfField{"every", "--every"},       FlagOfField{"anchor", "--anchor"},
    FlagOfField{"gap", "--gap"},           FlagOfField{"fold", "--fold"},
    FlagOfField{"jitter", "--jitter"},     FlagOfField{"missed", "--missed"},
    FlagOfField{"catch_up", "--catch-up"}, FlagOfField{"window", "--window"},
    FlagOfField{"ends", "--ends"},         FlagOfField{"overlap", "--overlap"},
    FlagOfField{"starts", "--starts"},     FlagOfField{"queue", "--queue"},
    FlagOfField{"priority", "--priority"}, FlagOfField{"max_attempts", "--max-attempts"},
};

std::string path_of(const ScheduleFlags& flags, std::string_view verb = {}) {
  return "/v1/schedules/" + escape_url(flags.name) + std::string(verb);
}

// The body that defines the schedule.
Result<std::string> definition_of(const ScheduleFlags& flags, Instant now, std::istream& in) {
  const auto task = submit_body(flags.task, "", now, in);
  if (!task.ok()) return task.error();
  std::string body = R"({"task":)" + *task;
  const auto add = [&body](std::string_view name, const std::optional<std::string>& value) {
    if (!value) return;
    body += fmt::format(R"(,"{}":)", name);
    append_json_string(body, *value);
  };
  add("cron", flags.cron);
  add("zone", flags.zone);
  add("every", flags.every);
  add("anchor", flags.anchor);
  add("gap", flags.gap);
  add("fold", flags.fold);
  add("jitter", flags.jitter);
  add("missed", flags.missed);
  add("window", flags.window);
  add("overlap", flags.overlap);
  add("starts", flags.starts);
  add("ends", flags.ends);
  if (flags.catch_up) body += fmt::format(R"(,"catch_up":{})", *flags.catch_up);
  if (flags.paused) body += R"(,"paused":true)";
  return body + "}";
}

Result<int> show_line(const Console& console, const std::string& reply) {
  const auto schedule = read_schedule(reply);
  if (!schedule.ok()) return schedule.error();
  const std::string next = schedule->paused            ? "paused"
                           : schedule->next_at.empty() ? "no further fire"
                                                       : "next " + printable(schedule->next_at);
  console.out << fmt::format("schedule {}: {}; {}\n", printable(schedule->name), printable(schedule->words), next);
  return kDone;
}

Result<int> show_whole(const Console& console, const std::string& reply) {
  const auto schedule = read_schedule(reply);
  if (!schedule.ok()) return schedule.error();
  for (const Member& member : schedule->members) {
    const std::string value = text_of(member);
    if (!value.empty()) console.out << fmt::format("{:<12} {}\n", member.name, printable(value));
  }
  return kDone;
}

Result<int> show_list(const Console& console, const std::string& reply) {
  const auto list = read_schedules(reply);
  if (!list.ok()) return list.error();
  if (list->schedules.empty()) {
    console.out << "There are no schedules; `horae schedule set` makes one.\n";
    return kDone;
  }
  Table table({{"SCHEDULE"}, {"NEXT"}, {"WHEN"}});
  for (const ScheduleReply& each : list->schedules) {
    table.add({{each.name},
               each.paused ? Cell{"paused", Colour::kYellow} : Cell{each.next_at.empty() ? "never" : each.next_at},
               {each.words}});
  }
  table.print(console);
  if (!list->next.empty()) console.out << "There are more: --after " << printable(list->next) << '\n';
  return kDone;
}

Result<int> show_fires(const Console& console, const std::string& reply) {
  const auto fires = read_fires(reply);
  if (!fires.ok()) return fires.error();
  if (fires->empty()) {
    console.out << "It has not fired yet.\n";
    return kDone;
  }
  Table table({{"AT"}, {"TASK"}, {"SKIPPED"}});
  for (const FireReply& fire : *fires) {
    std::string skipped = fire.skipped;
    if (fire.count > 1) skipped += fmt::format(" ({} until {})", fire.count, fire.last);
    table.add({{fire.at}, {fire.task}, {skipped, Colour::kYellow}});
  }
  table.print(console);
  return kDone;
}

Result<int> show_preview(const Console& console, const std::string& reply) {
  const auto preview = read_fire_preview(reply);
  if (!preview.ok()) return preview.error();
  console.out << printable(preview->words) << '\n';
  for (const auto& fire : preview->fires) {
    const std::string later = fire.run_at == fire.at ? "" : "  runs at " + printable(fire.run_at);
    console.out << printable(fire.at) << later << '\n';
  }
  return kDone;
}

Result<int> show_task(const Console& console, const std::string& reply) {
  const auto task = read_submitted(reply);
  if (!task.ok()) return task.error();
  console.out << fmt::format("task {} is {}\n", printable(task->id), printable(task->state));
  return kDone;
}

Result<int> show_deleted(const Console& console, const std::string& /*reply*/) {
  console.out << "The schedule is deleted; its tasks stay.\n";
  return kDone;
}

void add_name(CLI::App& command, ScheduleFlags& flags) {
  command.add_option("NAME", flags.name, "Name of the schedule")->required()->type_name("");
}

// A verb that only needs a name.
void add_call(CLI::App& noun, Context& context, const std::string& verb, const std::string& help,
              Result<std::string> (*call)(NodeClient& node, const ScheduleFlags& flags), Show show) {
  CLI::App& command = add_verb(noun, verb, help, fmt::format("  horae schedule {} nightly", verb));
  const auto flags = std::make_shared<ScheduleFlags>();
  add_name(command, *flags);
  add_client_options(command, flags->client);
  set_action(command, context, flags, [verb, call, show](const Context& environment, const ScheduleFlags& given) {
    return run_call(
        environment, "schedule " + verb, given.client, [&](NodeClient& node) { return call(node, given); }, show);
  });
}

int run_set(const Context& context, const ScheduleFlags& flags) {
  const auto body = definition_of(flags, context.clock.wall_now(), context.console.in);
  if (!body.ok()) return misuse(context, "schedule set", flags.client, body.error());
  return run_call(
      context, "schedule set", flags.client,
      [&](NodeClient& node) { return in_flags(node.put(path_of(flags), *body), kFlags); }, show_line);
}

// Of a stored schedule, or of one that the flags describe.
int run_preview(const Context& context, const ScheduleFlags& flags) {
  const std::string count = fmt::format("?count={}", flags.count);
  if (!flags.cron && !flags.every) {
    return run_call(
        context, "schedule preview", flags.client,
        [&](NodeClient& node) { return in_flags(node.get(path_of(flags, "/preview" + count)), kFlags); }, show_preview);
  }
  ScheduleFlags described = flags;
  described.task.queue = "preview";
  described.task.spec = "null";
  const auto body = definition_of(described, context.clock.wall_now(), context.console.in);
  if (!body.ok()) return misuse(context, "schedule preview", flags.client, body.error());
  return run_call(
      context, "schedule preview", flags.client,
      [&](NodeClient& node) { return in_flags(node.post(path_of(flags, "/preview" + count), *body), kFlags); },
      show_preview);
}

void add_rules(CLI::App& command, ScheduleFlags& flags) {
  command.add_option("--cron", flags.cron, "Cron expression: five fields, or six with the second first")
      ->type_name("TEXT");
  command.add_option("--zone", flags.zone, "Time zone of --cron; UTC by default")->type_name("ZONE");
  command.add_option("--every", flags.every, "Instead of --cron: a fixed rate, 1s at least")->type_name("DURATION");
  command.add_option("--anchor", flags.anchor, "One of the times of --every")->type_name("TIME");
  command.add_option("--gap", flags.gap, "Of times that the clock skips: next or skip")->type_name("RULE");
  command.add_option("--fold", flags.fold, "Of times that the clock shows twice: first, second or both")
      ->type_name("RULE");
  command.add_option("--jitter", flags.jitter, "Each task runs up to this later")->type_name("DURATION");
  command.add_option("--starts", flags.starts, "Not before this time")->type_name("TIME");
  command.add_option("--ends", flags.ends, "Not from this time on")->type_name("TIME");
}

void add_set(CLI::App& noun, Context& context) {
  CLI::App& command =
      add_verb(noun, "set", "Create a schedule, or replace its definition",
               "  horae schedule set nightly '{\"kind\":\"report\"}' --queue reports --cron '30 2 * * *' --zone "
               "Europe/Berlin\n"
               "  horae schedule set poll 1 --queue mail --every 90s --overlap allow");
  const auto flags = std::make_shared<ScheduleFlags>();
  add_name(command, *flags);
  command.add_option("SPEC", flags->task.spec, "Of its tasks: JSON, @FILE, or - for standard input")
      ->required()
      ->type_name("");
  command.add_option("--queue", flags->task.queue, "Queue of its tasks")->required()->type_name("NAME");
  command.add_option("--priority", flags->task.priority, "Of its tasks: 0 to 255, higher is more urgent")
      ->type_name("NUMBER");
  command
      .add_option("--max-attempts", flags->task.max_attempts, "Of its tasks: how many tries may fail; 0 is no limit")
      ->type_name("NUMBER");
  add_rules(command, *flags);
  command.add_option("--missed", flags->missed, "Of fires that no node was there for: last, all or skip")
      ->type_name("RULE");
  command.add_option("--catch-up", flags->catch_up, "With --missed all: how many at most; 100 by default")
      ->type_name("NUMBER");
  command.add_option("--window", flags->window, "With --missed all: how old at most; 24h by default")
      ->type_name("DURATION");
  command
      .add_option("--overlap", flags->overlap, "While the task before has not ended: skip, allow or cancel_previous")
      ->type_name("RULE");
  command.add_flag("--paused", flags->paused, "Do not fire until it is resumed");
  add_client_options(command, flags->client);
  set_action(command, context, flags, run_set);
}

void add_preview(CLI::App& noun, Context& context) {
  CLI::App& command = add_verb(noun, "preview", "Show the next fires of a schedule, or of one that does not exist yet",
                               "  horae schedule preview nightly\n"
                               "  horae schedule preview new --cron '30 2 * * *' --zone Europe/Berlin --count 20");
  const auto flags = std::make_shared<ScheduleFlags>();
  add_name(command, *flags);
  add_rules(command, *flags);
  command.add_option("--count", flags->count, "How many, 1,000 at most")->type_name("NUMBER");
  add_client_options(command, flags->client);
  set_action(command, context, flags, run_preview);
}

void add_list(CLI::App& noun, Context& context) {
  CLI::App& command = add_verb(noun, "list", "List schedules by name", "  horae schedule list");
  const auto flags = std::make_shared<ScheduleFlags>();
  command.add_option("--after", flags->name, "Only names after this one")->type_name("NAME");
  add_client_options(command, flags->client);
  set_action(command, context, flags, [](const Context& environment, const ScheduleFlags& given) {
    const std::string path = given.name.empty() ? "/v1/schedules" : "/v1/schedules?after=" + escape_url(given.name);
    return run_call(
        environment, "schedule list", given.client, [&](NodeClient& node) { return node.get(path); }, show_list);
  });
}

}  // namespace

void add_schedule_commands(CLI::App& app, Context& context) {
  using Flags = const ScheduleFlags&;
  CLI::App& noun = add_noun(app, "schedule", "Make tasks recur by the calendar");
  add_set(noun, context);
  add_call(
      noun, context, "get", "Show a schedule", [](NodeClient& node, Flags given) { return node.get(path_of(given)); },
      show_whole);
  add_list(noun, context);
  add_call(
      noun, context, "fires", "Show what became of the fires of a schedule, newest first",
      [](NodeClient& node, Flags given) { return node.get(path_of(given, "/fires")); }, show_fires);
  add_preview(noun, context);
  add_call(
      noun, context, "pause", "Stop firing until it is resumed; what would fire meanwhile is left out",
      [](NodeClient& node, Flags given) { return node.post(path_of(given, "/pause")); }, show_line);
  add_call(
      noun, context, "resume", "Fire again, from now on",
      [](NodeClient& node, Flags given) { return node.post(path_of(given, "/resume")); }, show_line);
  add_call(
      noun, context, "trigger", "Submit a task now, beside the calendar",
      [](NodeClient& node, Flags given) { return node.post(path_of(given, "/trigger")); }, show_task);
  add_call(
      noun, context, "delete", "Delete a schedule and the records of its fires; its tasks stay",
      [](NodeClient& node, Flags given) { return node.remove(path_of(given)); }, show_deleted);
}

}  // namespace horae::cli
