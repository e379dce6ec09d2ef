// horae scheduler status, start, stop.

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "cli/client/client.h"
#include "cli/client/replies.h"
#include "cli/commands.h"
#include "cli/terminal/table.h"

namespace horae::cli {
namespace {

void show_work(const Console& console, const std::string& first_column, const std::vector<SchedulerReply::Work>& work) {
  if (work.empty()) return;
  Table table({{first_column, Align::kLeft}, {"QUEUE"}, {"TASK"}, {"ATTEMPT", Align::kRight}, {"SINCE"}});
  for (const SchedulerReply::Work& each : work) {
    const std::string first = each.state.empty() ? std::to_string(each.level) : each.state;
    table.add({{each.is_internal ? first + " (upkeep)" : first},
               {each.queue},
               {each.task},
               {each.attempt > 0 ? std::to_string(each.attempt) : ""},
               {each.since}});
  }
  console.out << '\n';
  table.print(console);
}

Result<int> show_status(const Console& console, const std::string& reply) {
  const auto status = read_scheduler(reply);
  if (!status.ok()) return status.error();
  Fields fields;
  fields.add("scheduler", status->running ? "running" : "stopped", status->running ? Colour::kGreen : Colour::kYellow);
  fields.add("waiting workers", std::to_string(status->waiting_workers));
  fields.add("backlog", std::to_string(status->backlog.size()));
  fields.print(console);
  show_work(console, "SLOT", status->slots);
  show_work(console, "LEVEL", status->backlog);
  return kDone;
}

Result<int> show_change(const Console& console, const std::string& reply) {
  const auto status = read_scheduler(reply);
  if (!status.ok()) return status.error();
  const std::string_view state = status->running ? "running" : "stopped";
  console.out << fmt::format("The scheduler {} {} on all nodes.\n",
                             status->changed.value_or(true) ? "is now" : "was already", state);
  return kDone;
}

void add(CLI::App& noun, Context& context, const std::string& verb, const std::string& help, const Call& call,
         Show show) {
  CLI::App& command = add_verb(noun, verb, help, "  horae scheduler " + verb);
  const auto options = std::make_shared<ClientOptions>();
  add_client_options(command, *options);
  set_action(command, context, options, [verb, call, show](const Context& environment, const ClientOptions& client) {
    return run_call(environment, "scheduler " + verb, client, call, show);
  });
}

}  // namespace

void add_scheduler_commands(CLI::App& app, Context& context) {
  CLI::App& noun = add_noun(app, "scheduler", "Control whether tasks are handed out");
  add(
      noun, context, "status", "Show whether tasks are handed out, and the node's own slots",
      [](NodeClient& node) { return node.get("/v1/scheduler"); }, show_status);
  add(
      noun, context, "start", "Hand out tasks again, on all nodes",
      [](NodeClient& node) { return node.post("/v1/scheduler/start"); }, show_change);
  add(
      noun, context, "stop", "Stop handing out tasks on all nodes until started again; running tasks continue",
      [](NodeClient& node) { return node.post("/v1/scheduler/stop"); }, show_change);
}

}  // namespace horae::cli
