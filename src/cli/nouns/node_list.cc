// horae node list.

#include <memory>

#include "cli/client/client.h"
#include "cli/commands.h"
#include "cli/client/replies.h"
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

}  // namespace

void add_node_list_command(CLI::App& app, Context& context) {
  CLI::App* noun = app.add_subcommand("node", "The nodes on one store: list");
  noun->require_subcommand(1);
  CLI::App* command = add_verb(*noun, "list", "The nodes, and when each was last seen", "  horae node list");
  const auto options = std::make_shared<ClientOptions>();
  add_client_options(*command, *options);
  command->callback([&context, options] {
    context.chosen = [&context, options] {
      return run_call(
          context, "node list", *options, [](NodeClient& node) { return node.get("/v1/nodes"); }, show_nodes);
    };
  });
}

}  // namespace horae::cli
