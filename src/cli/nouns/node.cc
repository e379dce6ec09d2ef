// horae node list.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/time_text.h"
#include "cli/client/client.h"
#include "cli/client/replies.h"
#include "cli/commands.h"
#include "cli/terminal/table.h"
#include "store/cluster_store.h"

namespace horae::cli {
namespace {

std::optional<Instant> last_seen(const NodeReply& node) {
  const auto time = parse_instant(node.last_seen);
  return time.ok() ? std::optional(*time) : std::nullopt;
}

// The node that answers was seen a moment ago, so the latest time is the present of the store.
std::optional<Instant> latest(const std::vector<NodeReply>& nodes) {
  std::optional<Instant> time;
  for (const NodeReply& node : nodes) time = std::max(time, last_seen(node));
  return time;
}

Cell state_of(const NodeReply& node, const std::optional<Instant>& now) {
  const auto seen = last_seen(node);
  if (!seen || !now || *now - *seen <= kNodeIsGoneAfter) return {"alive", Colour::kGreen};
  return {fmt::format("silent for {} s", std::chrono::duration_cast<std::chrono::seconds>(*now - *seen).count()),
          Colour::kRed};
}

Result<int> show_nodes(const Console& console, const std::string& reply) {
  const auto nodes = read_nodes(reply);
  if (!nodes.ok()) return nodes.error();
  const auto now = latest(*nodes);
  Table table({{"NODE"}, {"ADDRESS"}, {"VERSION"}, {"STARTED"}, {"STATE"}});
  for (const NodeReply& node : *nodes) {
    table.add({{node.id}, {node.address}, {node.version}, {node.started_at}, state_of(node, now)});
  }
  table.print(console);
  return kDone;
}

int run_list(const Context& context, const ClientOptions& options) {
  return run_call(
      context, "node list", options, [](NodeClient& node) { return node.get("/v1/nodes"); }, show_nodes);
}

}  // namespace

void add_node_commands(CLI::App& app, Context& context) {
  CLI::App& noun = add_noun(app, "node", "Show the nodes of a store");
  CLI::App& list = add_verb(noun, "list", "List nodes, and which of them are alive", "  horae node list");
  const auto options = std::make_shared<ClientOptions>();
  add_client_options(list, *options);
  set_action(list, context, options, run_list);
}

}  // namespace horae::cli
