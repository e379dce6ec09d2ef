// horae task get, list, cancel, watch, explain; submit is beside it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <ostream>

#include "base/duration.h"
#include "base/json_text.h"
#include "cli/client/client.h"
#include "cli/commands.h"
#include "cli/client/replies.h"
#include "cli/nouns/task_submit.h"
#include "cli/nouns/task_view.h"
#include "cli/nouns/watch.h"

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
  CLI::App* command = add_verb(noun, "get", "All about one task",
                               "  horae task get 0190f7c2-0a1b-7c3d-8e4f-0123456789ab\n"
                               "  horae task get --queue reports --key report-2030 --json");
  const auto flags = std::make_shared<GetFlags>();
  command->add_option("ID", flags->id, "Its id")->type_name("");
  command->add_option("--queue", flags->queue, "Instead of an id: its queue")->type_name("QUEUE");
  command->add_option("--key", flags->key, "and its key")->type_name("TEXT");
  add_client_options(*command, flags->client);
  command->callback([&context, flags] { context.chosen = [&context, flags] { return run_get(context, *flags); }; });
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
  CLI::App* command = add_verb(noun, "list", "Tasks, page by page, the newest first",
                               "  horae task list --state running\n"
                               "  horae task list --queue mail --state completed,aborted --limit 20");
  const auto flags = std::make_shared<ListFlags>();
  command
      ->add_option("--state", flags->state,
                   "scheduled, ready, running, completed, aborted, cancelled, or several with commas between")
      ->type_name("STATES");
  command->add_option("--queue", flags->queue, "Of this queue only")->type_name("QUEUE");
  command->add_option("--owner", flags->owner, "Of this worker only; needs --state running, or --from and --before")
      ->type_name("WORKER");
  command->add_option("--from", flags->from, "Submitted then or later")->type_name("TIME");
  command->add_option("--before", flags->before, "Submitted earlier than this")->type_name("TIME");
  command->add_option("--limit", flags->limit, "Tasks of one page, 1 to 1000 (default: 100)")->type_name("NUMBER");
  command->add_option("--cursor", flags->cursor, "As the page before says at its end")->type_name("TEXT");
  add_client_options(*command, flags->client);
  command->callback([&context, flags] { context.chosen = [&context, flags] { return run_list(context, *flags); }; });
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

// One that was refused makes the command fail, although the others are cancelled. It is misused only if nothing could
// be read of it.
Result<int> show_cancelled(const Console& console, const std::string& reply) {
  const auto outcomes = read_cancel_outcomes(reply);
  if (!outcomes.ok()) return outcomes.error();
  const bool is_misused = !outcomes->empty() && std::ranges::all_of(*outcomes, &CancelReply::is_misuse);
  int exit_code = is_misused ? kMisused : kDone;
  for (const CancelReply& outcome : *outcomes) {
    if (outcome.problem.empty()) {
      console.out << fmt::format("task {} is cancelled{}\n", printable(outcome.id),
                                 outcome.verdict == "repeated" ? " (it was before)" : "");
    } else {
      console.err << fmt::format("horae task cancel: {}\n", printable(outcome.problem));
      if (!is_misused) exit_code = kFailed;
    }
  }
  return exit_code;
}

void add_cancel(CLI::App& noun, Context& context) {
  CLI::App* command = add_verb(noun, "cancel", "End tasks for good, whether they run or wait",
                               "  horae task cancel 0190f7c2-0a1b-7c3d-8e4f-0123456789ab --reason 'no longer needed'");
  const auto flags = std::make_shared<CancelFlags>();
  command->add_option("ID", flags->ids, "Their ids, 1000 at most")->required()->type_name("");
  command->add_option("--reason", flags->reason, "Kept with each of them")->type_name("TEXT");
  add_client_options(*command, flags->client);
  command->callback([&context, flags] {
    context.chosen = [&context, flags] {
      return run_call(
          context, "task cancel", flags->client,
          [&flags](NodeClient& node) {
            return in_flags(node.post("/v1/tasks/cancel", cancel_body(*flags)), kCancelFlags);
          },
          show_cancelled);
    };
  });
}

// ---- watch ----

struct WatchFlags {
  ClientOptions client;
  std::string id;
  std::optional<std::string> limit;
};

int run_watch(const Context& context, const WatchFlags& flags) {
  const auto limit = parse_duration(flags.limit.value_or("0s"));
  auto client = NodeClient::open(context, flags.client);
  if (!limit.ok()) {
    return misuse(context, "task watch", {limit.error().code, "--wait-limit: " + limit.error().message});
  }
  if (!client.ok()) return misuse(context, "task watch", client.error());
  return watch_task(context, "task watch", *client,
                    {.id = escape_url(flags.id),
                     .limit = flags.limit ? std::optional(*limit) : std::nullopt,
                     .json = flags.client.json});
}

void add_watch(CLI::App& noun, Context& context) {
  CLI::App* command = add_verb(noun, "watch", "Wait until a task has ended; exit with 3 if it did not complete",
                               "  horae task watch 0190f7c2-0a1b-7c3d-8e4f-0123456789ab --wait-limit 10m");
  const auto flags = std::make_shared<WatchFlags>();
  command->add_option("ID", flags->id, "Its id")->required()->type_name("");
  command->add_option("--wait-limit", flags->limit, "How long to wait at most")->type_name("DURATION");
  add_client_options(*command, flags->client);
  command->callback([&context, flags] { context.chosen = [&context, flags] { return run_watch(context, *flags); }; });
}

// ---- explain ----

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

void add_explain(CLI::App& noun, Context& context) {
  CLI::App* command = add_verb(noun, "explain", "Why a task does not run, or how it ended",
                               "  horae task explain 0190f7c2-0a1b-7c3d-8e4f-0123456789ab");
  const auto flags = std::make_shared<GetFlags>();
  command->add_option("ID", flags->id, "Its id")->required()->type_name("");
  add_client_options(*command, flags->client);
  command->callback([&context, flags] {
    context.chosen = [&context, flags] {
      const std::string path = "/v1/tasks/" + escape_url(flags->id) + "/explain";
      return run_call(
          context, "task explain", flags->client,
          [&path](NodeClient& node) { return in_flags(node.get(path), kGetFlags); }, show_reasons);
    };
  });
}

}  // namespace

void add_task_commands(CLI::App& app, Context& context) {
  CLI::App* noun = app.add_subcommand("task", "Tasks: submit, get, list, cancel, watch, explain");
  noun->require_subcommand(1);
  add_submit(*noun, context);
  add_get(*noun, context);
  add_list(*noun, context);
  add_cancel(*noun, context);
  add_watch(*noun, context);
  add_explain(*noun, context);
}

}  // namespace horae::cli
