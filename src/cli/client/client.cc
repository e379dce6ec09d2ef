#include "cli/client/client.h"

#include <fmt/format.h>

#include <ostream>

#include "app/config.h"
#include "base/duration.h"
#include "base/quote.h"
#include "cli/client/replies.h"
#include "http/problem.h"

namespace horae::cli {
namespace {

std::string with_scheme(std::string node) {
  while (node.ends_with('/')) node.pop_back();
  return node.find("://") == std::string::npos ? "http://" + node : node;
}

// The flag, else the variable, else empty.
std::string flag_or_variable(const Context& context, const std::string& flag, std::string_view variable) {
  const auto found = context.environment.find(std::string(variable));
  return flag.empty() && found != context.environment.end() ? found->second : flag;
}

ErrorCode code_of(int status) {
  switch (status) {
    case 400:
      return ErrorCode::kMalformed;
    case 401:
      return ErrorCode::kUnauthenticated;
    case 403:
      return ErrorCode::kForbidden;
    case 404:
      return ErrorCode::kNotFound;
    case 409:
      return ErrorCode::kConflict;
    case 413:
    case 422:
      return ErrorCode::kRefused;
    case 429:
      return ErrorCode::kOverLimit;
    case 503:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInternal;
  }
}

bool is_misuse(ErrorCode code) { return code == ErrorCode::kMalformed || code == ErrorCode::kRefused; }

void print_error(const Context& context, std::string_view command, const Error& error) {
  context.console.err << fmt::format("horae {}: {}\n", command, printable(error.message));
}

// With --json, for programs: the problem document of the node, or else one that says the same as `error`.
void print_problem(const Context& context, const ClientOptions& options, std::string document, const Error& error) {
  if (!options.json) return;
  if (document.empty()) append_problem(document, {.kind = problem_kind(error.code), .detail = error.message});
  context.console.out << document << '\n';
}

// Whether a word ends here: the name of a field is followed by its value or a colon.
bool ends_at(std::string_view text, std::size_t at) {
  return at >= text.size() || std::string_view(" :,;.").find(text[at]) != std::string_view::npos;
}

// The flag for the field whose name begins here. Within a sentence only names with an underscore count: the others,
// such as "queue", are English words.
const FlagOfField* flag_at(std::string_view message, std::size_t at, std::span<const FlagOfField> flags) {
  for (const FlagOfField& each : flags) {
    const bool is_name = at == 0 || each.field.find('_') != std::string_view::npos;
    if (is_name && message.substr(at).starts_with(each.field) && ends_at(message, at + each.field.size())) {
      return &each;
    }
  }
  return nullptr;
}

// Replaces names of fields by flags, except in quotes, which hold the user's own text.
std::string with_flags(std::string_view message, std::span<const FlagOfField> flags) {
  std::string result;
  bool is_quoted = false;
  for (std::size_t at = 0; at < message.size(); ++at) {
    const bool is_begin = at == 0 || message[at - 1] == ' ';
    if (message[at] == '"' && (at == 0 || message[at - 1] != '\\')) is_quoted = !is_quoted;
    const FlagOfField* flag = is_begin && !is_quoted ? flag_at(message, at, flags) : nullptr;
    if (flag != nullptr) {
      result += flag->flag;
      at += flag->field.size() - 1;
    } else {
      result += message[at];
    }
  }
  return result;
}

}  // namespace

void add_client_options(CLI::App& command, ClientOptions& options) {
  command.add_option("--node", options.node, "Node to call (default: HORAE_NODE, else http://127.0.0.1:3369)")
      ->type_name("URL");
  command.add_option("--timeout", options.timeout, "Timeout of a call (default: 30s)")->type_name("DURATION");
  command.add_flag("--json", options.json, "Print the node's JSON unchanged, for programs");
  command
      .add_option("--token", options.token,
                  "Secret of a token (default: HORAE_TOKEN, which other users of this machine cannot see)")
      ->type_name("SECRET");
  command
      .add_option("--ca", options.ca,
                  "CA certificates to trust for an https:// node (default: HORAE_CA, else the system's)")
      ->type_name("FILE");
}

NodeClient::NodeClient(NodeAddress address)
    : address_(std::move(address)),
      http_(std::make_unique<HttpClient>(HttpClientOptions{.ca_file = address_.ca_file})) {
  address_.url = with_scheme(std::move(address_.url));
}

Result<NodeClient> NodeClient::open(const Context& context, const ClientOptions& options) {
  const auto timeout = parse_duration(options.timeout);
  if (!timeout.ok()) return Error{ErrorCode::kMalformed, "--timeout: " + timeout.error().message};
  if (*timeout <= Duration::zero()) {
    return Error{ErrorCode::kMalformed, fmt::format("--timeout {}: give a time above 0s", options.timeout)};
  }
  const std::string named = flag_or_variable(context, options.node, kNodeVariable);
  const std::string node = with_scheme(named.empty() ? std::string(kDefaultNode) : named);
  if (!options.ca.empty() && !node.starts_with("https://")) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("--ca {}: {} is called without TLS; write https:// in --node", options.ca, node)};
  }
  return NodeClient({.url = node,
                     .timeout = *timeout,
                     .token = flag_or_variable(context, options.token, kTokenVariable),
                     .ca_file = flag_or_variable(context, options.ca, kCaVariable)});
}

Result<std::string> NodeClient::send(const std::string& method, const std::string& path, std::string body) {
  return send({.method = method, .url = address_.url + path, .body = std::move(body), .timeout = address_.timeout});
}

Result<void> NodeClient::stream(const std::string& path, Duration time, std::function<bool(std::string_view)> take) {
  const auto ended = send({.url = address_.url + path, .timeout = time, .take = std::move(take)});
  if (!ended.ok()) return ended.error();
  return {};
}

Result<std::string> NodeClient::send(NetRequest request) {
  problem_.clear();
  if (!request.body.empty()) request.headers.push_back({"Content-Type", "application/json"});
  if (!address_.token.empty()) request.headers.push_back({"Authorization", "Bearer " + address_.token});
  auto response = http_->send(request);
  if (!response.ok()) {
    if (response.error().code != ErrorCode::kUnavailable) return response.error();
    return Error{response.error().code, response.error().message + " (--node URL or HORAE_NODE names another node)"};
  }
  if (response->status >= 200 && response->status < 300) return std::move(response->body);
  const auto detail = read_problem(response->body);
  if (!detail) {
    return Error{ErrorCode::kInternal, fmt::format("{} {}: response {} with {}; is this a Horae node?", request.method,
                                                   request.url, response->status, quote(response->body))};
  }
  problem_ = std::move(response->body);
  return Error{code_of(response->status), *detail};
}

Result<std::string> in_flags(Result<std::string> reply, std::span<const FlagOfField> flags) {
  if (reply.ok() || !is_misuse(reply.error().code)) return reply;
  return Error{reply.error().code, with_flags(reply.error().message, flags)};
}

int fail(const Context& context, std::string_view command, const ClientOptions& options, const Error& error) {
  print_error(context, command, error);
  print_problem(context, options, {}, error);
  return error.retryable() ? kTryAgain : kFailed;
}

int fail(const Context& context, std::string_view command, const ClientOptions& options, const NodeClient& client,
         const Error& error) {
  if (client.problem().empty()) return fail(context, command, options, error);
  print_error(context, command, error);
  print_problem(context, options, client.problem(), error);
  if (is_misuse(error.code)) return kMisused;
  return error.retryable() ? kTryAgain : kFailed;
}

int misuse(const Context& context, std::string_view command, const ClientOptions& options, const Error& error) {
  print_error(context, command, error);
  print_problem(context, options, {}, error);
  return kMisused;
}

int run_call(const Context& context, std::string_view command, const ClientOptions& options, const Call& call,
             Show show) {
  auto client = NodeClient::open(context, options);
  if (!client.ok()) return misuse(context, command, options, client.error());
  const auto reply = call(*client);
  if (!reply.ok()) return fail(context, command, options, *client, reply.error());
  return show_reply(context, command, options, *reply, show);
}

int show_reply(const Context& context, std::string_view command, const ClientOptions& options, const std::string& reply,
               Show show) {
  if (options.json) {
    if (!reply.empty()) context.console.out << reply << '\n';
    std::ostream nowhere(nullptr);
    const auto shown = show({.in = context.console.in, .out = nowhere, .err = context.console.err}, reply);
    return shown.ok() ? *shown : kDone;
  }
  const auto shown = show(context.console, reply);
  return shown.ok() ? *shown : fail(context, command, options, shown.error());
}

}  // namespace horae::cli
