// horae delay status, put, get, list, cancel, move, import.

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "base/json_text.h"
#include "base/quote.h"
#include "base/text/base64.h"
#include "base/utf8.h"
#include "cli/client/client.h"
#include "cli/client/delay_replies.h"
#include "cli/commands.h"
#include "cli/nouns/delay_import.h"
#include "cli/terminal/table.h"

namespace horae::cli {
namespace {

struct DelayFlags {
  ClientOptions client;
  std::string queue;
  std::string id;
  std::optional<std::string> at;
  std::optional<std::string> in;
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<std::string> headers;
  std::optional<std::string> state;
  std::optional<std::string> cursor;
  int limit = 100;
};

constexpr std::array kFlagNames = {FlagOfField{"deadline", "--at"},    FlagOfField{"delay", "--in"},
                                   FlagOfField{"key", "--key"},        FlagOfField{"value", "VALUE"},
                                   FlagOfField{"headers", "--header"}, FlagOfField{"limit", "--limit"}};

std::string path_of(const DelayFlags& flags) { return "/v1/delay/" + escape_url(flags.queue); }
std::string messages_of(const DelayFlags& flags) { return path_of(flags) + "/messages"; }
std::string message_of(const DelayFlags& flags) { return messages_of(flags) + "/" + escape_url(flags.id); }

// ---- Bodies ----

void append_bytes(std::string& out, std::string_view bytes) {
  if (is_text(bytes)) return append_json_string(out, bytes);
  out += fmt::format(R"({{"base64":"{}"}})", to_base64(bytes));
}

// "--at" or "--in", as the first member of a body.
Result<std::string> time_member(const DelayFlags& flags) {
  if (!flags.at && !flags.in) return Error{ErrorCode::kMalformed, "give the deadline by --in or --at"};
  std::string out = flags.at ? R"("deadline":)" : R"("delay":)";
  append_json_string(out, flags.at ? *flags.at : *flags.in);
  return out;
}

Result<std::string> value_bytes(const std::string& value, std::istream& in) {
  if (value == "-") return std::string(std::istreambuf_iterator<char>(in), {});
  if (!value.starts_with('@')) return value;
  std::ifstream file(value.substr(1), std::ios::binary);
  if (!file) return Error{ErrorCode::kMalformed, fmt::format("VALUE {}: the file cannot be read", quote(value))};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<std::string> put_body(const DelayFlags& flags, std::istream& in) {
  const auto time = time_member(flags);
  if (!time.ok()) return time.error();
  std::string body = "{" + *time;
  if (!flags.id.empty()) append_json_string(body += R"(,"id":)", flags.id);
  if (flags.key) append_bytes(body += R"(,"key":)", *flags.key);
  if (flags.value) {
    const auto bytes = value_bytes(*flags.value, in);
    if (!bytes.ok()) return bytes;
    append_bytes(body += R"(,"value":)", *bytes);
  }
  if (!flags.headers.empty()) {
    body += R"(,"headers":[)";
    for (const std::string& header : flags.headers) {
      const std::size_t equals = header.find('=');
      if (equals == std::string::npos) {
        return Error{ErrorCode::kMalformed, fmt::format("--header {}: give NAME=VALUE", quote(header))};
      }
      if (body.back() != '[') body += ',';
      append_json_string(body += '{', header.substr(0, equals));
      append_bytes(body += ':', header.substr(equals + 1));
      body += '}';
    }
    body += ']';
  }
  return body + "}";
}

// ---- Answers for people ----

Result<int> show_status(const Console& console, const std::string& reply) {
  const auto queues = read_delay_queues(reply);
  if (!queues.ok()) return queues.error();
  if (queues->empty()) {
    console.out << "This node has no delay queues; its configuration names them ([delay.NAME]).\n";
    return kDone;
  }
  Table table({{"QUEUE"},
               {"WAITING", Align::kRight},
               {"READY", Align::kRight},
               {"OVERDUE", Align::kRight},
               {"OLDEST", Align::kRight},
               {"FIRED/S", Align::kRight},
               {"LATE P50", Align::kRight},
               {"P99", Align::kRight},
               {"ADVANCE", Align::kRight},
               {"LAG", Align::kRight},
               {""}});
  for (const DelayQueueReply& queue : *queues) {
    std::string problems;
    for (const std::string& problem : queue.problems) problems += (problems.empty() ? "" : "; ") + problem;
    table.add({{queue.name},
               {std::to_string(queue.waiting) + (queue.more ? "+" : "")},
               {std::to_string(queue.ready)},
               {std::to_string(queue.overdue), queue.overdue == 0 ? Colour::kGrey : Colour::kYellow},
               {queue.oldest_overdue},
               {fmt::format("{:.0f}", queue.fired_per_second)},
               {queue.lateness_p50},
               {queue.lateness_p99},
               {queue.timing_advance},
               {queue.lag},
               {problems, Colour::kRed}});
  }
  table.print(console);
  return kDone;
}

// What a node answers for one queue, as a list of one.
Result<int> show_one_status(const Console& console, const std::string& reply) {
  return show_status(console, fmt::format(R"({{"queues":[{}]}})", reply));
}

Result<int> show_put(const Console& console, const std::string& reply) {
  const auto put = read_put(reply);
  if (!put.ok()) return put.error();
  console.out << fmt::format("{} {}\n", printable(put->id),
                             put->outcome == "present" ? "was there before; nothing was changed" : "is stored");
  return kDone;
}

Result<int> show_message(const Console& console, const std::string& reply) {
  const auto message = read_message(reply);
  if (!message.ok()) return message.error();
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) console.out << fmt::format("{:<11} {}\n", name, printable(value));
  };
  line("id", message->id);
  line("state", message->state);
  line("deadline", message->deadline);
  if (message->due != message->deadline) line("due", message->due);
  line("readied at", message->readied_at);
  line("readied by", message->readied_by);
  line("key", message->key);
  line("value", message->value);
  line("headers", message->headers);
  return kDone;
}

Result<int> show_messages(const Console& console, const std::string& reply) {
  const auto page = read_message_page(reply);
  if (!page.ok()) return page.error();
  if (page->messages.empty() && page->next.empty()) {
    console.out << "There are no such messages.\n";
    return kDone;
  }
  Table table({{"ID"}, {"STATE"}, {"DEADLINE"}, {"DUE"}, {"KEY"}});
  for (const MessageReply& message : page->messages) {
    table.add({{message.id},
               {message.state, message.state == "ready" ? Colour::kGreen : Colour::kNone},
               {message.deadline},
               {message.due == message.deadline ? "" : message.due},
               {message.key}});
  }
  table.print(console);
  if (!page->next.empty()) console.out << fmt::format("more with --cursor '{}'\n", printable(page->next));
  return kDone;
}

Result<int> show_cancelled(const Console& console, const std::string& /*reply*/) {
  console.out << "cancelled\n";
  return kDone;
}

Result<int> show_moved(const Console& console, const std::string& reply) {
  const auto moved = read_moved(reply);
  if (!moved.ok()) return moved.error();
  console.out << fmt::format("{} is due at {}\n", printable(moved->id), printable(moved->deadline));
  return kDone;
}

// ---- Verbs ----

int run_status(const Context& context, const DelayFlags& flags) {
  const auto call = [&](NodeClient& node) { return node.get(flags.queue.empty() ? "/v1/delay" : path_of(flags)); };
  return run_call(context, "delay status", flags.client, call, flags.queue.empty() ? show_status : show_one_status);
}

int run_put(const Context& context, const DelayFlags& flags) {
  const auto body = put_body(flags, context.console.in);
  if (!body.ok()) return misuse(context, "delay put", flags.client, body.error());
  const auto call = [&](NodeClient& node) { return in_flags(node.post(messages_of(flags), *body), kFlagNames); };
  return run_call(context, "delay put", flags.client, call, show_put);
}

int run_get(const Context& context, const DelayFlags& flags) {
  return run_call(
      context, "delay get", flags.client, [&](NodeClient& node) { return node.get(message_of(flags)); }, show_message);
}

int run_list(const Context& context, const DelayFlags& flags) {
  std::string path = fmt::format("{}?limit={}", messages_of(flags), flags.limit);
  if (flags.state) path += "&state=" + escape_url(*flags.state);
  if (flags.cursor) path += "&cursor=" + escape_url(*flags.cursor);
  const auto call = [&](NodeClient& node) { return in_flags(node.get(path), kFlagNames); };
  return run_call(context, "delay list", flags.client, call, show_messages);
}

int run_cancel(const Context& context, const DelayFlags& flags) {
  const auto call = [&](NodeClient& node) { return node.remove(message_of(flags)); };
  return run_call(context, "delay cancel", flags.client, call, show_cancelled);
}

int run_move(const Context& context, const DelayFlags& flags) {
  const auto time = time_member(flags);
  if (!time.ok()) return misuse(context, "delay move", flags.client, time.error());
  const auto call = [&](NodeClient& node) {
    return in_flags(node.patch(message_of(flags), "{" + *time + "}"), kFlagNames);
  };
  return run_call(context, "delay move", flags.client, call, show_moved);
}

using Flags = std::shared_ptr<DelayFlags>;

void add_queue(CLI::App& command, const Flags& flags, bool is_required = true) {
  auto* const option = command.add_option("QUEUE", flags->queue, "Name of the delay queue")->type_name("");
  if (is_required) option->required();
}

void add_id(CLI::App& command, const Flags& flags) {
  command.add_option("ID", flags->id, "Id of the message")->required()->type_name("");
}

void add_time(CLI::App& command, const Flags& flags) {
  CLI::Option* const in =
      command.add_option("--in", flags->in, "Deadline, counted from now: 90s; it or --at is required");
  command.add_option("--at", flags->at, "Deadline: 2026-12-01T11:09:01Z")->excludes(in);
}

void add_reading(CLI::App& noun, Context& context) {
  const auto status = std::make_shared<DelayFlags>();
  CLI::App& status_command =
      add_verb(noun, "status", "Show delay queues: what waits, is ready and overdue, lateness, problems of topics",
               "  horae delay status\n  horae delay status orders --json");
  add_queue(status_command, status, false);
  add_client_options(status_command, status->client);
  set_action(status_command, context, status, run_status);

  const auto get = std::make_shared<DelayFlags>();
  CLI::App& get_command =
      add_verb(noun, "get", "Show a message that waits or is ready", "  horae delay get orders order-7");
  add_queue(get_command, get);
  add_id(get_command, get);
  add_client_options(get_command, get->client);
  set_action(get_command, context, get, run_get);

  const auto list = std::make_shared<DelayFlags>();
  CLI::App& list_command = add_verb(noun, "list", "List messages by the time at which they are due",
                                    "  horae delay list orders --state waiting --limit 20");
  add_queue(list_command, list);
  list_command.add_option("--state", list->state, "Only messages in this state: waiting, ready");
  list_command.add_option("--limit", list->limit, "How many")->capture_default_str();
  list_command.add_option("--cursor", list->cursor, "Continue a list: the cursor that its page ended with");
  add_client_options(list_command, list->client);
  set_action(list_command, context, list, run_list);
}

void add_writing(CLI::App& noun, Context& context) {
  const auto put = std::make_shared<DelayFlags>();
  CLI::App& put_command = add_verb(noun, "put", "Put a message, to be fired at its deadline",
                                   "  horae delay put orders --in 90s --id order-7 --key customer-3 '{\"remind\":7}'\n"
                                   "  horae delay put orders --at 2026-12-01T11:09:01Z --header trace=1 @body.bin");
  add_queue(put_command, put);
  put_command.add_option("VALUE", put->value, "Value; @FILE reads a file, - the standard input")->type_name("");
  put_command.add_option("--id", put->id, "Id; made if it is absent");
  add_time(put_command, put);
  put_command.add_option("--key", put->key, "Key");
  put_command.add_option("--header", put->headers, "Header NAME=VALUE; may be given again")->allow_extra_args(false);
  add_client_options(put_command, put->client);
  set_action(put_command, context, put, run_put);

  const auto cancel = std::make_shared<DelayFlags>();
  CLI::App& cancel_command =
      add_verb(noun, "cancel", "Cancel a message that waits", "  horae delay cancel orders order-7");
  add_queue(cancel_command, cancel);
  add_id(cancel_command, cancel);
  add_client_options(cancel_command, cancel->client);
  set_action(cancel_command, context, cancel, run_cancel);

  const auto move = std::make_shared<DelayFlags>();
  CLI::App& move_command =
      add_verb(noun, "move", "Give a message that waits another deadline", "  horae delay move orders order-7 --in 5m");
  add_queue(move_command, move);
  add_id(move_command, move);
  add_time(move_command, move);
  add_client_options(move_command, move->client);
  set_action(move_command, context, move, run_move);
}

}  // namespace

void add_delay_commands(CLI::App& app, Context& context) {
  CLI::App& noun = add_noun(app, "delay", "Delay queues and their messages");
  add_reading(noun, context);
  add_writing(noun, context);
  add_delay_import(noun, context);
}

}  // namespace horae::cli
