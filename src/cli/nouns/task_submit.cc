#include "cli/nouns/task_submit.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <ostream>
#include <vector>

#include "base/duration.h"
#include "base/json_text.h"
#include "base/quote.h"
#include "base/time_text.h"
#include "base/uuid.h"
#include "cli/client/client.h"
#include "cli/client/replies.h"
#include "cli/nouns/task_watch.h"
#include "model/task.h"

namespace horae::cli {
namespace {

Error bad(std::string why) { return {ErrorCode::kMalformed, std::move(why)}; }

// Reads up to one byte more than the limit, so that the caller notices the excess.
std::string read_all(std::istream& in) {
  std::string text(kMaxSpecBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

Result<std::string> spec_text(const NewTaskFlags& flags, std::istream& in) {
  if (flags.sleep) {
    std::string spec = R"({"run":"sleep","for":)";
    append_json_string(spec, *flags.sleep);
    return spec + "}";
  }
  if (flags.spec == "-") return read_all(in);
  if (!flags.spec.starts_with('@')) return flags.spec;
  std::ifstream file(flags.spec.substr(1), std::ios::binary);
  if (!file) return bad(fmt::format("SPEC {}: the file cannot be read", quote(flags.spec)));
  return read_all(file);
}

Result<std::optional<std::string>> run_at(const NewTaskFlags& flags, Instant now) {
  if (flags.at) {
    const auto at = parse_instant(*flags.at);
    if (!at.ok()) return bad("--at: " + at.error().message);
    return std::optional(*flags.at);
  }
  if (!flags.in) return std::optional<std::string>();
  const auto in = parse_duration(*flags.in);
  if (!in.ok()) return bad("--in: " + in.error().message);
  const auto delay = std::chrono::duration_cast<std::chrono::microseconds>(*in);
  if (delay > latest_instant() - now) return bad(fmt::format("--in {}: is beyond the year 9999", *flags.in));
  return std::optional(format_instant(now + delay));
}

void add_text(std::string& body, std::string_view name, const std::optional<std::string>& value) {
  if (!value) return;
  body += fmt::format(R"(,"{}":)", name);
  append_json_string(body, *value);
}

void add_number(std::string& body, std::string_view name, const std::optional<std::int64_t>& value) {
  if (value) body += fmt::format(R"(,"{}":{})", name, *value);
}

void add_retry(std::string& body, const NewTaskFlags& flags) {
  if (!flags.retry) return;
  body += R"(,"retry":{"kind":)";
  append_json_string(body, *flags.retry);
  add_text(body, "delay", flags.retry_delay);
  body += "}";
}

// The fields of the API that the flags set.
std::vector<FlagOfField> fields_of(const NewTaskFlags& flags) {
  return {{"queue", "QUEUE"},
          {"spec", flags.sleep ? "--sleep" : "SPEC"},
          {"id", "--id"},
          {"key", "--key"},
          {"priority", "--priority"},
          {"run_at", flags.in ? "--in" : "--at"},
          {"recurring", "--every"},
          {"max_attempts", "--max-attempts"},
          {"retry.kind", "--retry"},
          {"retry.delay", "--retry-delay"},
          {"retry policy: delay", "--retry-delay"},
          {"retry policy: cap", "--retry-delay"}};
}

struct SubmitFlags {
  NewTaskFlags task;
  ClientOptions client;
  bool wait = false;
  std::optional<std::string> wait_limit;
};

// Refuses combinations of flags that make no sense.
Result<void> check_flags(const SubmitFlags& flags) {
  if (flags.task.spec.empty() == !flags.task.sleep) return bad("give either a SPEC or --sleep");
  if (flags.task.sleep) {
    if (const auto sleep = parse_duration(*flags.task.sleep); !sleep.ok())
      return bad("--sleep: " + sleep.error().message);
  }
  if (flags.task.at && flags.task.in) return bad("give either --at or --in");
  if (flags.wait && flags.task.every) return bad("--wait: a recurring task does not end");
  if (flags.wait_limit && !flags.wait) return bad("--wait-limit needs --wait");
  if (flags.task.retry_delay && !flags.task.retry) return bad("--retry-delay needs --retry");
  return {};
}

constexpr std::string_view kCommand = "task submit";

int misuse(const Context& context, const SubmitFlags& flags, const Error& error) {
  return misuse(context, kCommand, flags.client, error);
}

// Appends how to repeat a failed submit. If the reply was lost, the task may have been stored; submitting it again
// under the same key or id is idempotent. With --in, a repetition computes another time and so is another request,
// unless it names the time.
Error with_retry_hint(Error error, const NewTaskFlags& flags, const std::string& id,
                      const std::optional<std::string>& at) {
  if (flags.in && error.code == ErrorCode::kConflict) {
    error.message += " (--in counts from now, so each command has another time: name the time with --at)";
  }
  if (!error.retryable()) return error;
  std::vector<std::string> changes;
  if (!id.empty()) changes.push_back("--id " + id);
  if (flags.in) changes.push_back(fmt::format("--at {} instead of --in", at.value_or("")));
  error.message += changes.empty() ? " (repeat the same command: it makes no second task)"
                                   : fmt::format(" (repeat the command with {}: it makes no second task)",
                                                 fmt::join(changes, " and "));
  return error;
}

// The client chooses the id, so that a submit whose reply was lost can be repeated. A key serves the same purpose; with
// a new id besides the key, each repetition would be another request, and so a conflict.
std::string id_of(const Context& context, const NewTaskFlags& task) {
  if (task.id) return *task.id;
  if (task.key) return "";
  UuidSource ids(context.clock, context.random);
  return to_string(ids.next());
}

Result<int> show_submitted(const Console& console, const std::string& reply) {
  const auto task = read_submitted(reply);
  if (!task.ok()) return task.error();
  console.out << fmt::format("task {} is {}{}\n", task->id, painted(console, colour_of(task->state), task->state),
                             task->outcome == "present" ? " (already submitted before)" : "");
  return kDone;
}

int run_submit(const Context& context, const SubmitFlags& flags) {
  if (const auto checked = check_flags(flags); !checked.ok()) return misuse(context, flags, checked.error());
  const std::string id = id_of(context, flags.task);
  const Instant now = context.clock.wall_now();
  const auto body = submit_body(flags.task, id, now, context.console.in);
  if (!body.ok()) return misuse(context, flags, body.error());
  const auto limit = parse_duration(flags.wait_limit.value_or("0s"));
  if (!limit.ok()) return misuse(context, flags, bad("--wait-limit: " + limit.error().message));
  auto client = NodeClient::open(context, flags.client);
  if (!client.ok()) return misuse(context, flags, client.error());

  const auto reply = in_flags(client->post("/v1/tasks", *body), fields_of(flags.task));
  if (!reply.ok()) {
    const auto at = run_at(flags.task, now);
    return fail(context, kCommand, flags.client, *client, with_retry_hint(reply.error(), flags.task, id, *at));
  }
  if (flags.client.json && !flags.wait) context.console.out << *reply << '\n';
  if (!flags.client.json) {
    const auto shown = show_submitted(context.console, *reply);
    if (!shown.ok()) return fail(context, kCommand, flags.client, shown.error());
  }
  if (!flags.wait) return kDone;
  const auto submitted = read_submitted(*reply);
  if (!submitted.ok()) return fail(context, kCommand, flags.client, submitted.error());
  return watch_task(context, kCommand, *client,
                    {.id = submitted->id,
                     .limit = flags.wait_limit ? std::optional(*limit) : std::nullopt,
                     .json = flags.client.json});
}

void add_task_flags(CLI::App& command, NewTaskFlags& task) {
  command.add_option("QUEUE", task.queue, "Queue to submit to")->required()->type_name("");
  command.add_option("SPEC", task.spec, "What to do, as JSON; @FILE reads a file, - reads standard input")
      ->type_name("");
  command
      .add_option("--sleep", task.sleep,
                  "Instead of a SPEC: sleep that long in a slot of a node (queues demo and tms by default)")
      ->type_name("DURATION");
  command.add_option("--priority", task.priority, "0 to 255; higher is more urgent (default: 50)")->type_name("NUMBER");
  command.add_option("--key", task.key, "Idempotency key: a queue has one task for each key")->type_name("TEXT");
  command.add_option("--id", task.id, "Id of the task (default: a new one)")->type_name("UUID");
  command.add_option("--at", task.at, "Earliest time to run it, such as 2030-01-01T06:00:00Z")->type_name("TIME");
  command.add_option("--in", task.in, "Earliest time to run it, from now, such as 10m")->type_name("DURATION");
  command.add_option("--every", task.every, "Repeat it, this long after each completion, such as 1h")
      ->type_name("DURATION");
  command
      .add_option("--max-attempts", task.max_attempts, "Maximum number of failed tries; 0 is unlimited (default: 0)")
      ->type_name("NUMBER");
  command.add_option("--retry", task.retry, "Retry policy after an abort: none, fixed or exponential (default: none)")
      ->type_name("KIND");
  command.add_option("--retry-delay", task.retry_delay, "Delay before the next try (default: 1s)")
      ->type_name("DURATION");
}

}  // namespace

Result<std::string> submit_body(const NewTaskFlags& flags, const std::string& id, Instant now, std::istream& in) {
  const auto spec = spec_text(flags, in);
  if (!spec.ok()) return spec.error();
  if (spec->size() > kMaxSpecBytes) return bad(fmt::format("the spec is larger than {} bytes", kMaxSpecBytes));
  if (const auto checked = check_json(*spec); !checked.ok()) {
    return bad(fmt::format("SPEC {}: {}", quote(*spec), checked.error().message));
  }
  const auto at = run_at(flags, now);
  if (!at.ok()) return at.error();
  std::string body = R"({"queue":)";
  append_json_string(body, flags.queue);
  if (!id.empty()) add_text(body, "id", id);
  body += R"(,"spec":)" + *spec;
  add_text(body, "key", flags.key);
  add_number(body, "priority", flags.priority);
  add_text(body, "run_at", *at);
  add_text(body, "recurring", flags.every);
  add_number(body, "max_attempts", flags.max_attempts);
  add_retry(body, flags);
  return body + "}";
}

void add_submit(CLI::App& noun, Context& context) {
  CLI::App& command = add_verb(noun, "submit", "Submit a task to a queue",
                               "  horae task submit mail '{\"to\":\"a@example.org\"}' --priority 200\n"
                               "  horae task submit demo --sleep 5s --wait\n"
                               "  horae task submit reports @report.json --at 2030-01-01T06:00:00Z --key report-2030\n"
                               "  generate | horae task submit mail - --every 1h --retry exponential --max-attempts 5");
  const auto flags = std::make_shared<SubmitFlags>();
  add_task_flags(command, flags->task);
  command.add_flag("--wait", flags->wait, "Wait until it ends; exit with 3 unless it completed");
  command.add_option("--wait-limit", flags->wait_limit, "With --wait: maximum time to wait; then exit with 5")
      ->type_name("DURATION");
  add_client_options(command, flags->client);
  set_action(command, context, flags, run_submit);
}

}  // namespace horae::cli
