// horae task get, list, cancel, explain. submit and watch have files of their own.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <ostream>

#include "base/json_text.h"
#include "cli/client/client.h"
#include "cli/client/replies.h"
#include "cli/commands.h"
#include "cli/nouns/task_submit.h"
#include "cli/nouns/task_view.h"
#include "cli/nouns/task_watch.h"

namespace horae::cli {
namespace {

// ---- get ----

constexpr std::array kGetFlags = {FlagOfField{"id", "ID"}, FlagOfField{"queue", "--queue"},
                                  FlagOfField{"key", "--key"}};

struct GetFlags {
  ClientOptions client;
  std::string id;
  std::string queue;
  std::string key;
};

Result<int> show_one(const Console& console, const std::string& reply) {
  const auto task = read_task(reply);
  if (!task.ok()) return task.error();
  show_task(console, *task);
  return kDone;
}

int run_get(const Context& context, const GetFlags& flags) {
  if (flags.id.empty() == (flags.queue.empty() || flags.key.empty())) {
    context.console.err << "horae task get: give an ID, or --queue and --key\n";
    return kMisused;
  }
  const std::string path = flags.id.empty()
                               ? fmt::format("/v1/queues/{}/keys/{}", escape_url(flags.queue), escape_url(flags.key))
                               : "/v1/tasks/" + escape_url(flags.id);
  return run_call(
      context, "task get", flags.client, [&path](NodeClient& node) { return in_flags(node.get(path), kGetFlags); },
      show_one);
}

void add_get(CLI::App& noun, Context& context) {
  CLI::App& command = add_verb(noun, "get", "Show one task",
                               "  horae task get 0190f7c2-0a1b-7c3d-8e4f-0123456789ab\n"
                               "  horae task get --queue reports --key report-2030 --json");
  const auto flags = std::make_shared<GetFlags>();
  command.add_option("ID", flags->id, "Id of the task")->type_name("");
  command.add_option("--queue", flags->queue, "Instead of an ID, with --key: the queue of the task")
      ->type_name("QUEUE");
  command.add_option("--key", flags->key, "Instead of an ID, with --queue: the key of the task")->type_name("TEXT");
  add_client_options(command, flags->client);
  set_action(command, context, flags, run_get);
}

// ---- list ----

struct ListFlags {
  ClientOptions client;
  std::string state, queue, owner, from, before, limit, cursor;
};

std::string list_path(const ListFlags& flags) {
  std::string path = "/v1/tasks";
  const auto add = [&path](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    path += fmt::format("{}{}={}", path.find('?') == std::string::npos ? "?" : "&", name, escape_url(value));
  };
  add("state", flags.state);
  add("queue", flags.queue);
  add("owner", flags.owner);
  add("created_from", flags.from);
  add("created_before", flags.before);
  add("limit", flags.limit);
  add("cursor", flags.cursor);
  return path;
}

constexpr std::array kListFlags = {FlagOfField{"state", "--state"},           FlagOfField{"queue", "--queue"},
                                   FlagOfField{"owner", "--owner"},           FlagOfField{"created_from", "--from"},
                                   FlagOfField{"created_before", "--before"}, FlagOfField{"limit", "--limit"},
                                   FlagOfField{"cursor", "--cursor"}};

Result<int> show_many(const Console& console, const std::string& reply) {
  const auto page = read_page(reply);
  if (!page.ok()) return page.error();
  show_page(console, *page);
  return kDone;
}

int run_list(const Context& context, const ListFlags& flags) {
  return run_call(
      context, "task list", flags.client,
      [&flags](NodeClient& node) { return in_flags(node.get(list_path(flags)), kListFlags); }, show_many);
}

void add_list(CLI::App& noun, Context& context) {
  CLI::App& command = add_verb(noun, "list", "List tasks page by page, newest first",
                               "  horae task list --state running\n"
                               "  horae task list --queue mail --state completed,aborted --limit 20");
  const auto flags = std::make_shared<ListFlags>();
  command
      .add_option(
          "--state", flags->state,
          "Only tasks in these states, comma-separated: scheduled, ready, running, completed, aborted, cancelled")
      ->type_name("STATES");
  command.add_option("--queue", flags->queue, "Only tasks of this queue")->type_name("QUEUE");
  command
      .add_option("--owner", flags->owner, "Only tasks of this worker; needs --state running, or --from and --before")
      ->type_name("WORKER");
  command.add_option("--from", flags->from, "Only tasks submitted at this time or later, such as 2030-01-01T06:00:00Z")
      ->type_name("TIME");
  command.add_option("--before", flags->before, "Only tasks submitted before this time")->type_name("TIME");
  command.add_option("--limit", flags->limit, "Tasks per page, 1 to 1000 (default: 100)")->type_name("NUMBER");
  command.add_option("--cursor", flags->cursor, "Next page: the cursor at the end of the previous one")
      ->type_name("TEXT");
  add_client_options(command, flags->client);
  set_action(command, context, flags, run_list);
}

// ---- cancel ----

struct CancelFlags {
  ClientOptions client;
  std::vector<std::string> ids;
  std::string reason;
};

std::string cancel_body(const CancelFlags& flags) {
  std::string body = R"({"ids":[)";
  for (std::size_t i = 0; i < flags.ids.size(); ++i) {
    if (i > 0) body += ",";
    append_json_string(body, flags.ids[i]);
  }
  body += "]";
  if (!flags.reason.empty()) {
    body += R"(,"reason":)";
    append_json_string(body, flags.reason);
  }
  return body + "}";
}

constexpr std::array kCancelFlags = {FlagOfField{"ids", "ID"}, FlagOfField{"reason", "--reason"}};

// One refused task makes the command fail, although the rest are cancelled. It is misuse only if none of the ids was
// valid.
Result<int> show_cancelled(const Console& console, const std::string& reply) {
  const auto outcomes = read_cancel_outcomes(reply);
  if (!outcomes.ok()) return outcomes.error();
  const bool is_misused = !outcomes->empty() && std::ranges::all_of(*outcomes, &CancelReply::is_misuse);
  int exit_code = is_misused ? kMisused : kDone;
  for (const CancelReply& outcome : *outcomes) {
    if (outcome.problem.empty()) {
      console.out << fmt::format("task {} is cancelled{}\n", printable(outcome.id),
                                 outcome.verdict == "repeated" ? " (already before)" : "");
    } else {
      console.err << fmt::format("horae task cancel: {}\n", printable(outcome.problem));
      if (!is_misused) exit_code = kFailed;
    }
  }
  return exit_code;
}

int run_cancel(const Context& context, const CancelFlags& flags) {
  return run_call(
      context, "task cancel", flags.client,
      [&flags](NodeClient& node) { return in_flags(node.post("/v1/tasks/cancel", cancel_body(flags)), kCancelFlags); },
      show_cancelled);
}

void add_cancel(CLI::App& noun, Context& context) {
  CLI::App& command = add_verb(noun, "cancel", "Cancel tasks for good, whether waiting or running",
                               "  horae task cancel 0190f7c2-0a1b-7c3d-8e4f-0123456789ab --reason 'no longer needed'");
  const auto flags = std::make_shared<CancelFlags>();
  command.add_option("ID", flags->ids, "Ids of the tasks, at most 1000")->required()->type_name("");
  command.add_option("--reason", flags->reason, "Reason to store with each task")->type_name("TEXT");
  add_client_options(command, flags->client);
  set_action(command, context, flags, run_cancel);
}

// ---- explain ----

struct ExplainFlags {
  ClientOptions client;
  std::string id;
};

Result<int> show_reasons(const Console& console, const std::string& reply) {
  const auto explanation = read_explanation(reply);
  if (!explanation.ok()) return explanation.error();
  console.out << fmt::format("task {} of queue {} is {}:\n", printable(explanation->id), printable(explanation->queue),
                             painted(console, colour_of(explanation->state), printable(explanation->state)));
  for (const ExplainReply::Reason& reason : explanation->reasons) {
    console.out << fmt::format("  {}\n", printable(reason.detail));
  }
  return kDone;
}

int run_explain(const Context& context, const ExplainFlags& flags) {
  const std::string path = "/v1/tasks/" + escape_url(flags.id) + "/explain";
  return run_call(
      context, "task explain", flags.client, [&path](NodeClient& node) { return in_flags(node.get(path), kGetFlags); },
      show_reasons);
}

void add_explain(CLI::App& noun, Context& context) {
  CLI::App& command = add_verb(noun, "explain", "Explain why a task does not run, or how it ended",
                               "  horae task explain 0190f7c2-0a1b-7c3d-8e4f-0123456789ab");
  const auto flags = std::make_shared<ExplainFlags>();
  command.add_option("ID", flags->id, "Id of the task")->required()->type_name("");
  add_client_options(command, flags->client);
  set_action(command, context, flags, run_explain);
}

}  // namespace

void add_task_commands(CLI::App& app, Context& context) {
  CLI::App& noun = add_noun(app, "task", "Submit, inspect and cancel tasks");
  add_submit(noun, context);
  add_get(noun, context);
  add_list(noun, context);
  add_cancel(noun, context);
  add_watch(noun, context);
  add_explain(noun, context);
}

}  // namespace horae::cli
