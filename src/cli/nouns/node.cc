// horae node list.

#include <memory>

#include "cli/client/client.h"
#include "cli/client/replies.h"
#include "cli/commands.h"
#include "cli/terminal/table.h"

namespace horae::cli {
namespace {

Result<int> show_nodes(const Console& console, const std::string& reply) {
  const auto nodes = read_nodes(reply);
  if (!nodes.ok()) return nodes.error();
  Table table({{"NODE"}, {"ADDRESS"}, {"VERSION"}, {"STARTED"}, {"LAST SEEN"}});
  for (const NodeReply& node : *nodes) {
    table.add({{node.id}, {node.address}, {node.version}, {node.started_at}, {node.last_seen}});
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
  CLI::App& list = add_verb(noun, "list", "List nodes and when each was last seen", "  horae node list");
  const auto options = std::make_shared<ClientOptions>();
  add_client_options(list, *options);
  set_action(list, context, options, run_list);
}

}  // namespace horae::cli
