// Commands that ask a node.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "cli/commands.h"
#include "net/http_client.h"

namespace horae::cli {

inline constexpr std::string_view kDefaultNode = "http://127.0.0.1:3369";

struct ClientOptions {
  std::string node;  // empty: HORAE_NODE, else kDefaultNode
  std::string timeout = "30s";
  bool json = false;
  std::string token;  // empty: HORAE_TOKEN, else none
  std::string ca;     // empty: HORAE_CA, else the system's
};

// --node, --json, --timeout, --token and --ca.
void add_client_options(CLI::App& command, ClientOptions& options);

// Where a node is, and what it wants to see.
struct NodeAddress {
  std::string url;  // "127.0.0.1:3369" is "http://127.0.0.1:3369"
  Duration timeout{};
  std::string token = {};    // the secret; empty: none is shown
  std::string ca_file = {};  // who vouches for an https:// node; empty: whom the system trusts
};

// A node over HTTP. Not for several threads at once.
class NodeClient {
 public:
  explicit NodeClient(NodeAddress address);

  // As the options and the environment say. kMalformed if the timeout is none.
  static Result<NodeClient> open(const Context& context, const ClientOptions& options);

  // The body of a success; else what the node says is wrong, or that there is none. The codes are those of Result.
  Result<std::string> get(const std::string& path) { return send("GET", path, ""); }
  Result<std::string> post(const std::string& path, std::string body = {}) {
    return send("POST", path, std::move(body));
  }
  Result<std::string> patch(const std::string& path, std::string body) { return send("PATCH", path, std::move(body)); }
  Result<std::string> remove(const std::string& path) { return send("DELETE", path, ""); }

  // Streams events of a node to `take`, which answers whether to go on, for `time` at most. A success if `take` ended
  // it or the node did; kUnavailable if the time was over. Not while another call is under way.
  Result<void> stream(const std::string& path, Duration time, std::function<bool(std::string_view)> take);

  // Another one for the same node.
  NodeClient another() const { return NodeClient(address_); }

  // The body of the newest refusal, as the node wrote it; empty if it was none of a node.
  const std::string& problem() const { return problem_; }

  const std::string& node() const { return address_.url; }

 private:
  Result<std::string> send(const std::string& method, const std::string& path, std::string body);
  Result<std::string> send(NetRequest request);

  NodeAddress address_;
  std::unique_ptr<HttpClient> http_;
  std::string problem_;
};

// What the API calls a setting, and what one types to set it: {"run_at", "--at"}.
struct FlagOfField {
  std::string_view field;
  std::string_view flag;
};

// The same reply; a refusal (400, 422) names the flags instead of the fields.
Result<std::string> in_flags(Result<std::string> reply, std::span<const FlagOfField> flags);

// Tells of a failure and answers what to exit with: kMisused also if it is the node that cannot do what the command
// line says (400, 413, 422). With --json, the node's own document goes to `out`.
int fail(const Context& context, std::string_view command, const Error& error);
int fail(const Context& context, std::string_view command, const ClientOptions& options, const NodeClient& client,
         const Error& error);

// Tells why the command line cannot be followed, of which nothing was tried.
int misuse(const Context& context, std::string_view command, const Error& error);

// A command that is one call: opens the client, asks, and shows the answer; with --json as the node's exact bytes, and
// then `show` only decides what to exit with.
using Ask = std::function<Result<std::string>(NodeClient&)>;
using Show = Result<int> (*)(const Console& console, const std::string& reply);  // answers what to exit with
int run_call(const Context& context, std::string_view command, const ClientOptions& options, const Ask& ask, Show show);

// The end of run_call(), for a command that got its answer elsewhere.
int show_reply(const Context& context, std::string_view command, const ClientOptions& options, const std::string& reply,
               Show show);

}  // namespace horae::cli
