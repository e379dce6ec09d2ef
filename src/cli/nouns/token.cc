// horae token create, list, revoke.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <ostream>

#include "api/access/new_token.h"
#include "app/open_store.h"
#include "base/json_text.h"
#include "cli/client/client.h"
#include "cli/client/replies.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/terminal/table.h"

namespace horae::cli {
namespace {

struct TokenFlags {
  ClientOptions client;
  ConfigFlags config;
  bool is_offline = false;
  std::string id;
  std::string name;
  std::string role;
  std::vector<std::string> queues = {"*"};
};

constexpr std::array kTokenFlags = {FlagOfField{"name", "--name"}, FlagOfField{"role", "--role"},
                                    FlagOfField{"queues", "--queues"}, FlagOfField{"queue pattern", "--queues"},
                                    FlagOfField{"queue patterns", "--queues"}};

// Does the work of a verb on a store and returns the JSON that a node would return.
using StoreCall = std::function<Result<std::string>(TokenStore&)>;

struct TokenCommand {
  std::string name;  // "token list"
  Call call;
  StoreCall offline_call;
  Show show;
  std::function<Result<void>()> check = [] { return Result<void>(); };  // without a node: the checks that it would do
  bool may_make_store = false;                                          // the first token comes before the first start
};

Result<std::string> call_offline(const Context& context, const Config& config, const TokenCommand& command) {
  if (!command.may_make_store) {
    if (auto exists = check_store_exists(config.store); !exists.ok()) return exists.error();
  }
  const auto store = open_store(config.store, context.clock, config.postgres, config.max_queues);
  if (!store.ok()) return store.error();
  // In another folder than the node's, the default store is another one, and is made if there is none.
  context.console.err << "store: " << (*store)->description() << '\n';
  return command.offline_call((*store)->tokens());
}

int run_token(const Context& context, const TokenFlags& flags, const TokenCommand& command) {
  if (!flags.is_offline) return run_call(context, command.name, flags.client, command.call, command.show);
  const auto checked = command.check();
  if (!checked.ok()) return misuse(context, command.name, flags.client, checked.error());
  const auto config = load_config(flags.config, context);
  if (!config.ok()) return misuse(context, command.name, flags.client, config.error());
  const auto reply = call_offline(context, *config, command);
  if (!reply.ok()) return fail(context, command.name, flags.client, reply.error());
  return show_reply(context, command.name, flags.client, *reply, command.show);
}

std::string queues_of(const TokenReply& token) { return fmt::format("{}", fmt::join(token.queues, " ")); }

Result<int> show_created(const Console& console, const std::string& reply) {
  const auto token = read_token(reply);
  if (!token.ok()) return token.error();
  Fields fields;
  fields.add("id", token->id);
  fields.add("name", token->name);
  fields.add("role", token->role);
  fields.add("queues", queues_of(*token));
  fields.add("secret", token->secret);
  fields.print(console);
  console.err << "The secret is not shown again. Pass it to commands as HORAE_TOKEN or with --token.\n";
  return kDone;
}

Result<int> show_tokens(const Console& console, const std::string& reply) {
  const auto tokens = read_tokens(reply);
  if (!tokens.ok()) return tokens.error();
  if (tokens->empty()) {
    console.out << "There are no tokens yet.\n";
    return kDone;
  }
  Table table({{"ID"}, {"NAME"}, {"ROLE"}, {"QUEUES"}, {"CREATED"}});
  for (const TokenReply& token : *tokens) {
    table.add({{token.id}, {token.name}, {token.role}, {queues_of(token)}, {token.created_at}});
  }
  table.print(console);
  return kDone;
}

Result<int> show_revoked(const Console& console, const std::string&) {
  console.out << "The token is revoked.\n";
  return kDone;
}

std::string wish_body(const TokenFlags& flags) {
  std::string body = R"({"name":)";
  append_json_string(body, flags.name);
  body += R"(,"role":)";
  append_json_string(body, flags.role);
  body += R"(,"queues":[)";
  for (const std::string& pattern : flags.queues) {
    if (body.back() != '[') body += ',';
    append_json_string(body, pattern);
  }
  return body + "]}";
}

Result<std::string> create_in(TokenStore& store, Random& random, const TokenFlags& flags) {
  const auto wish = read_token_wish(wish_body(flags));
  if (!wish.ok()) return wish.error();
  const auto made = create_token(store, random, *wish);
  if (!made.ok()) return made.error();
  return to_json(*made);
}

Result<void> check_wish(const TokenFlags& flags) {
  const auto wish = read_token_wish(wish_body(flags));
  if (!wish.ok()) return in_flags(wish.error(), kTokenFlags).error();
  return {};
}

Result<std::string> list_of(TokenStore& store) {
  const auto list = store.tokens();
  if (!list.ok()) return list.error();
  return to_json(*list);
}

Result<std::string> revoke_in(TokenStore& store, const std::string& id) {
  const auto revoked = store.revoke(id);
  if (!revoked.ok()) return revoked.error();
  if (!*revoked) return Error{ErrorCode::kNotFound, fmt::format("token {}: not found", id)};
  return std::string();
}

// Adds the flags that all verbs share, and the action.
void finish(CLI::App& verb, Context& context, const std::shared_ptr<TokenFlags>& flags, const TokenCommand& command) {
  add_client_options(verb, flags->client);
  verb.add_flag("--offline", flags->is_offline,
                "Open the configured store directly instead of calling a node; no node may use an embedded store then");
  add_config_flags(verb, flags->config, {"data", "store", "postgres.allow_unsafe"});
  set_action(verb, context, flags, [command](const Context& environment, const TokenFlags& given) {
    return run_token(environment, given, command);
  });
}

void add_create(CLI::App& noun, Context& context) {
  CLI::App& verb = add_verb(noun, "create", "Create a token and print its secret, which is not shown again",
                            "  horae token create --name build --role submit --queues 'mail.*' reports\n"
                            "  horae token create --name first --role admin --offline");
  const auto flags = std::make_shared<TokenFlags>();
  verb.add_option("--name", flags->name, "Name for people, such as the user of the token")
      ->required()
      ->type_name("TEXT");
  verb.add_option("--role", flags->role,
                  "read: inspect; submit: also submit and cancel; work: inspect, claim and settle; admin: everything")
      ->required()
      ->type_name("read|submit|work|admin");
  verb.add_option(
          "--queues", flags->queues,
          "Patterns of its queues, such as 'mail.*' reports, or mail,reports; * matches any characters (default: "
          "all queues)")
      ->delimiter(',')
      ->type_name("PATTERN");
  finish(
      verb, context, flags,
      {.name = "token create",
       .call = [flags](NodeClient& node) { return in_flags(node.post("/v1/tokens", wish_body(*flags)), kTokenFlags); },
       .offline_call = [&context, flags](TokenStore& store) { return create_in(store, context.random, *flags); },
       .show = show_created,
       .check = [flags] { return check_wish(*flags); },
       .may_make_store = true});
}

void add_list(CLI::App& noun, Context& context) {
  CLI::App& verb = add_verb(noun, "list", "List tokens, without their secrets",
                            "  horae token list\n  horae token list --json | jq '.tokens[].name'");
  finish(verb, context, std::make_shared<TokenFlags>(),
         {.name = "token list",
          .call = [](NodeClient& node) { return node.get("/v1/tokens"); },
          .offline_call = list_of,
          .show = show_tokens});
}

void add_revoke(CLI::App& noun, Context& context) {
  CLI::App& verb = add_verb(noun, "revoke", "Revoke a token", "  horae token revoke t-3f9a0c51d2e4");
  const auto flags = std::make_shared<TokenFlags>();
  verb.add_option("ID", flags->id, "Id of the token, as listed")->required()->type_name("");
  finish(verb, context, flags,
         {.name = "token revoke",
          .call = [flags](NodeClient& node) { return node.remove("/v1/tokens/" + escape_url(flags->id)); },
          .offline_call = [flags](TokenStore& store) { return revoke_in(store, flags->id); },
          .show = show_revoked});
}

}  // namespace

void add_token_commands(CLI::App& app, Context& context) {
  CLI::App& noun = add_noun(app, "token", "Manage access tokens");
  add_create(noun, context);
  add_list(noun, context);
  add_revoke(noun, context);
}

}  // namespace horae::cli
