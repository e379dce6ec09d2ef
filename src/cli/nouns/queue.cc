// horae queue list, pause, resume, set, delete.

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <ostream>

#include "base/json_text.h"
#include "cli/client/client.h"
#include "cli/client/replies.h"
#include "cli/commands.h"
#include "cli/terminal/table.h"

namespace horae::cli {
namespace {

struct QueueFlags {
  ClientOptions client;
  std::string queue;
  std::optional<std::int64_t> ageing_rate;
  std::optional<std::string> retention;
  bool create = false;
  bool cancel_tasks = false;
};

constexpr std::array kQueueFlags = {FlagOfField{"queue", "QUEUE"}, FlagOfField{"ageing_rate", "--ageing-rate"},
                                    FlagOfField{"ageing rate", "--ageing-rate"},
                                    FlagOfField{"retention", "--retention"}};

Cell count(std::int64_t number, Colour colour = Colour::kNone) {
  return {std::to_string(number), number == 0 ? Colour::kGrey : colour};
}

Result<int> show_queues(const Console& console, const std::string& reply) {
  const auto queues = read_queues(reply);
  if (!queues.ok()) return queues.error();
  if (queues->empty()) {
    console.out << "There are no queues yet; submitting a task creates its queue.\n";
    return kDone;
  }
  Table table({{"QUEUE"},
               {"READY", Align::kRight},
               {"OLDEST", Align::kRight},
               {"RUNNING", Align::kRight},
               {"SCHEDULED", Align::kRight},
               {"COMPLETED", Align::kRight},
               {"ABORTED", Align::kRight},
               {"CANCELLED", Align::kRight},
               {"AGEING", Align::kRight},
               {"RETENTION", Align::kRight},
               {""}});
  for (const QueueReply& queue : *queues) {
    table.add({{queue.name},
               count(queue.ready),
               {queue.oldest_ready},
               count(queue.running, Colour::kBlue),
               count(queue.scheduled),
               count(queue.completed, Colour::kGreen),
               count(queue.aborted, Colour::kRed),
               count(queue.cancelled, Colour::kYellow),
               {std::to_string(queue.ageing_rate)},
               {queue.retention},
               {queue.paused ? "paused" : "", Colour::kYellow}});
  }
  table.print(console);
  return kDone;
}

Result<int> show_settings(const Console& console, const std::string& reply) {
  const auto queue = read_queue(reply);
  if (!queue.ok()) return queue.error();
  console.out << fmt::format("queue {}: {}, ageing rate {}, retention {}\n", printable(queue->name),
                             queue->paused ? "paused" : "open", queue->ageing_rate, printable(queue->retention));
  return kDone;
}

Result<int> show_removal(const Console& console, const std::string& reply) {
  const auto removal = read_queue_removal(reply);
  if (!removal.ok()) return removal.error();
  console.out << fmt::format(
      "queue {} is deleted; tasks cancelled: {}; tasks removed, with those that had finished: {}\n",
      printable(removal->name), removal->cancelled, removal->purged);
  return kDone;
}

std::string path_of(const QueueFlags& flags, std::string_view verb = {}) {
  return "/v1/queues/" + escape_url(flags.queue) + std::string(verb);
}

std::string change_body(const QueueFlags& flags) {
  std::string body = "{";
  if (flags.ageing_rate) body += fmt::format(R"("ageing_rate":{})", *flags.ageing_rate);
  if (flags.retention) {
    body += body.size() > 1 ? R"(,"retention":)" : R"("retention":)";
    append_json_string(body, *flags.retention);
  }
  return body + "}";
}

int run_set(const Context& context, const QueueFlags& flags) {
  if (!flags.ageing_rate && !flags.retention) {
    context.console.err << "horae queue set: give --ageing-rate or --retention\n";
    return kMisused;
  }
  return run_call(
      context, "queue set", flags.client,
      [&flags](NodeClient& node) { return in_flags(node.patch(path_of(flags), change_body(flags)), kQueueFlags); },
      show_settings);
}

int run_list(const Context& context, const QueueFlags& flags) {
  return run_call(
      context, "queue list", flags.client, [](NodeClient& node) { return node.get("/v1/queues"); }, show_queues);
}

// queue pause, queue resume.
CLI::App& add_switch(CLI::App& noun, Context& context, const std::string& verb, const std::string& help,
                     const std::shared_ptr<QueueFlags>& flags) {
  CLI::App& command = add_verb(noun, verb, help, fmt::format("  horae queue {} mail", verb));
  command.add_option("QUEUE", flags->queue, "Name of the queue")->required()->type_name("");
  add_client_options(command, flags->client);
  set_action(command, context, flags, [verb](const Context& environment, const QueueFlags& given) {
    const auto call = [&](NodeClient& node) {
      return given.create ? node.patch(path_of(given), R"({"paused":true})") : node.post(path_of(given, "/" + verb));
    };
    return run_call(
        environment, "queue " + verb, given.client, [&](NodeClient& node) { return in_flags(call(node), kQueueFlags); },
        show_settings);
  });
  return command;
}

void add_pause(CLI::App& noun, Context& context) {
  const auto flags = std::make_shared<QueueFlags>();
  CLI::App& command =
      add_switch(noun, context, "pause", "Stop handing out a queue's tasks; running tasks continue", flags);
  command.add_flag("--create", flags->create, "Create the queue if it is new, paused before its first task");
}

void add_list(CLI::App& noun, Context& context) {
  CLI::App& command = add_verb(noun, "list", "List queues with settings, counts and oldest wait",
                               "  horae queue list\n  horae queue list --json | jq '.queues[].name'");
  const auto flags = std::make_shared<QueueFlags>();
  add_client_options(command, flags->client);
  set_action(command, context, flags, run_list);
}

void add_set(CLI::App& noun, Context& context) {
  CLI::App& command = add_verb(noun, "set", "Change settings of a queue; creates the queue if it is new",
                               "  horae queue set mail --retention 24h\n  horae queue set mail --ageing-rate 0");
  const auto flags = std::make_shared<QueueFlags>();
  command.add_option("QUEUE", flags->queue, "Name of the queue")->required()->type_name("");
  command
      .add_option("--ageing-rate", flags->ageing_rate,
                  "Priority points that a ready task gains per second; 0 is strict priority")
      ->type_name("NUMBER");
  command.add_option("--retention", flags->retention, "How long to keep finished tasks")->type_name("DURATION");
  add_client_options(command, flags->client);
  set_action(command, context, flags, run_set);
}

void add_delete(CLI::App& noun, Context& context) {
  CLI::App& command = add_verb(noun, "delete", "Delete a queue with its settings and its finished tasks",
                               "  horae queue delete mail\n  horae queue delete mail --cancel-tasks");
  const auto flags = std::make_shared<QueueFlags>();
  command.add_option("QUEUE", flags->queue, "Name of the queue")->required()->type_name("");
  command.add_flag("--cancel-tasks", flags->cancel_tasks,
                   "Cancel the tasks that wait or run in it first; without this they make the command fail");
  add_client_options(command, flags->client);
  set_action(command, context, flags, [](const Context& environment, const QueueFlags& given) {
    const std::string path = path_of(given, given.cancel_tasks ? "?cancel_tasks=true" : "");
    return run_call(
        environment, "queue delete", given.client,
        [&](NodeClient& node) { return in_flags(node.remove(path), kQueueFlags); }, show_removal);
  });
}

}  // namespace

void add_queue_commands(CLI::App& app, Context& context) {
  CLI::App& noun = add_noun(app, "queue", "Inspect and configure queues");
  add_list(noun, context);
  add_pause(noun, context);
  add_switch(noun, context, "resume", "Hand out a queue's tasks again", std::make_shared<QueueFlags>());
  add_set(noun, context);
  add_delete(noun, context);
}

}  // namespace horae::cli
