#include "cli/nouns/delay_import.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/json_text.h"
#include "base/text/base64.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "cli/client/client.h"
#include "cli/client/delay_replies.h"
#include "stores/headers.h"
#include "stores/postgres/chronos_table.h"

namespace horae::cli {
namespace {

constexpr std::size_t kPage = 500;                // rows that are read at once
constexpr std::size_t kMaxBodyBytes = 512 << 10;  // of a call, unless one message is larger

struct ImportFlags {
  ClientOptions client;
  std::string queue;
  std::string from;
  std::string table;
};

struct Tally {
  std::size_t read = 0;
  std::size_t created = 0;
  std::size_t present = 0;
  std::size_t firing = 0;
};

void append_bytes(std::string& out, std::string_view name, const Bytes& bytes) {
  if (!bytes) return;
  out += fmt::format(R"(,"{}":)", name);
  if (is_text(*bytes)) return append_json_string(out, *bytes);
  out += fmt::format(R"({{"base64":"{}"}})", to_base64(*bytes));
}

std::string json_of(const Message& message) {
  std::string out = R"({"id":)";
  append_json_string(out, message.id);
  out += fmt::format(R"(,"deadline":"{}")", format_instant(message.deadline));
  append_bytes(out, "key", message.key);
  append_bytes(out, "value", message.value);
  return out + fmt::format(R"(,"headers":{}}})", encode_headers(message.headers));
}

// Puts one batch; its items have commas between them.
Result<void> put(NodeClient& node, const std::string& queue, const std::string& items, Tally& tally) {
  if (items.empty()) return {};
  const auto reply = node.post(fmt::format("/v1/delay/{}/messages/batch", escape_url(queue)),
                               fmt::format(R"({{"messages":[{}]}})", items));
  if (!reply.ok()) return reply.error();
  const auto outcomes = read_put_outcomes(*reply);
  if (!outcomes.ok()) return outcomes.error();
  for (const PutReply& outcome : *outcomes) {
    if (outcome.outcome == "created") {
      ++tally.created;
    } else if (outcome.outcome == "present") {
      ++tally.present;
    } else if (outcome.type.ends_with(":firing")) {
      ++tally.firing;
    } else {
      return Error{ErrorCode::kRefused, fmt::format("message {}: {}", outcome.id, outcome.problem)};
    }
  }
  return {};
}

Result<Tally> import(NodeClient& node, ChronosTable& table, const std::string& queue) {
  Tally tally;
  for (std::string after;;) {
    const auto page = table.read(after, kPage);
    if (!page.ok()) return page.error();
    if (page->empty()) return tally;
    std::string items;
    for (const Message& message : *page) {
      const std::string item = json_of(message);
      if (!items.empty() && items.size() + item.size() > kMaxBodyBytes) {
        if (auto done = put(node, queue, std::exchange(items, {}), tally); !done.ok()) return done.error();
      }
      items += (items.empty() ? "" : ",") + item;
      ++tally.read;
    }
    if (auto done = put(node, queue, items, tally); !done.ok()) return done.error();
    after = page->back().id;
  }
}

int run_import(const Context& context, const ImportFlags& flags) {
  auto node = NodeClient::open(context, flags.client);
  if (!node.ok()) return misuse(context, "delay import", flags.client, node.error());
  const auto table = open_chronos_table(flags.from, flags.table);
  if (!table.ok()) return fail(context, "delay import", flags.client, table.error());
  const auto tally = import(*node, **table, flags.queue);
  if (!tally.ok()) return fail(context, "delay import", flags.client, *node, tally.error());
  std::ostream& out = context.console.out;
  if (flags.client.json) {
    out << fmt::format(R"({{"read":{},"created":{},"present":{},"firing":{}}})", tally->read, tally->created,
                       tally->present, tally->firing)
        << "\n";
  } else {
    out << fmt::format("{} messages read: {} are stored, {} were there before, {} are being fired\n", tally->read,
                       tally->created, tally->present, tally->firing);
  }
  return kDone;
}

}  // namespace

void add_delay_import(CLI::App& noun, Context& context) {
  CLI::App& command =
      add_verb(noun, "import", "Put all messages of a table of Chronos, also those that it left readied",
               "  horae delay import orders --from postgresql://chronos@db/chronos\n"
               "  horae delay import orders --from postgresql://chronos@db/chronos --table hanger");
  const auto flags = std::make_shared<ImportFlags>();
  command.add_option("QUEUE", flags->queue, "Name of the delay queue")->required()->type_name("");
  command.add_option("--from", flags->from, "URL of the database of Chronos, which is only read")->required();
  command.add_option("--table", flags->table, "Its table; without it, hanger or schedules");
  add_client_options(command, flags->client);
  set_action(command, context, flags, run_import);
}

}  // namespace horae::cli
