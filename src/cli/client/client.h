// Commands that call a node over HTTP.
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

// Where a node is, and the credentials for it.
struct NodeAddress {
  std::string url;  // "127.0.0.1:3369" is "http://127.0.0.1:3369"
  Duration timeout{};
  std::string token = {};    // the secret; empty: none is sent
  std::string ca_file = {};  // authorities to trust for an https:// node; empty: the system's
};

// A node, over HTTP. Not thread-safe.
class NodeClient {
 public:
  explicit NodeClient(NodeAddress address);

  // From the options, else the environment, else the defaults. kMalformed if the timeout is invalid or zero, or --ca is
  // given for a node that is called without TLS.
  static Result<NodeClient> open(const Context& context, const ClientOptions& options);

  // The body of a successful response; else the detail of the node's problem document, or why there was no response.
  Result<std::string> get(const std::string& path) { return send("GET", path, ""); }
  Result<std::string> post(const std::string& path, std::string body = {}) {
    return send("POST", path, std::move(body));
  }
  Result<std::string> put(const std::string& path, std::string body) { return send("PUT", path, std::move(body)); }
  Result<std::string> patch(const std::string& path, std::string body) { return send("PATCH", path, std::move(body)); }
  Result<std::string> remove(const std::string& path) { return send("DELETE", path, ""); }

  // Streams events of a node to `take`, which returns whether to continue, for `time` at most. Success if `take` or the
  // node ended the stream; kUnavailable if the time ran out. Not while another call is in progress.
  Result<void> stream(const std::string& path, Duration time, std::function<bool(std::string_view)> take);

  // A second client for the same node.
  NodeClient another() const { return NodeClient(address_); }

  // The problem document of the last call, unchanged; empty if the node sent none.
  const std::string& problem() const { return problem_; }

  const std::string& node() const { return address_.url; }

 private:
  Result<std::string> send(const std::string& method, const std::string& path, std::string body);
  Result<std::string> send(NetRequest request);

  NodeAddress address_;
  std::unique_ptr<HttpClient> http_;
  std::string problem_;
};

// A field of the API and the flag that sets it: {"run_at", "--at"}.
struct FlagOfField {
  std::string_view field;
  std::string_view flag;
};

// Passes a reply through; in the message of a refusal (400, 413, 422) it replaces names of fields by flags.
Result<std::string> in_flags(Result<std::string> reply, std::span<const FlagOfField> flags);

// Each prints a failure on `err` and returns the exit code. With --json it also prints a problem document on `out`: the
// node's, or else one of its own.

// kFailed, or kTryAgain.
int fail(const Context& context, std::string_view command, const ClientOptions& options, const Error& error);

// The same after a call of `client`; kMisused if the node finds the command line invalid (400, 413, 422).
int fail(const Context& context, std::string_view command, const ClientOptions& options, const NodeClient& client,
         const Error& error);

// kMisused: the command line is invalid, and nothing has been tried yet.
int misuse(const Context& context, std::string_view command, const ClientOptions& options, const Error& error);

// Runs a command that is a single call: opens the client, calls the node and shows the reply. With --json it prints the
// exact bytes of the reply, and `show` only determines the exit code.
using Call = std::function<Result<std::string>(NodeClient&)>;
using Show = Result<int> (*)(const Console& console, const std::string& reply);  // returns the exit code
int run_call(const Context& context, std::string_view command, const ClientOptions& options, const Call& call,
             Show show);

// The last step of run_call(), for a command that got its reply in another way.
int show_reply(const Context& context, std::string_view command, const ClientOptions& options, const std::string& reply,
               Show show);

}  // namespace horae::cli
