// /v1/tokens: access tokens.

#include <fmt/format.h>

#include <memory>

#include "api/access/new_token.h"
#include "api/api.h"
#include "api/routes/routes.h"
#include "base/quote.h"

namespace horae {
namespace {

using CallPtr = std::shared_ptr<Call>;

void make_token(Api& api, const CallPtr& call) {
  if (auto allowed = call->check_scope_of_all(); !allowed.ok()) return call->fail(allowed.error());
  const auto wish = read_token_wish(call->request.body);
  if (!wish.ok()) return call->fail(wish.error());
  api.read(call, [&api, call, wish = *wish] {
    const auto made = create_token(api.parts().access, api.parts().random, wish);
    if (!made.ok()) return call->fail(made.error());
    call->answer({.status = 201, .body = to_json(*made), .headers = {{"Location", "/v1/tokens/" + made->token.id}}});
  });
}

void list_tokens(Api& api, const CallPtr& call) {
  if (auto allowed = call->check_scope_of_all(); !allowed.ok()) return call->fail(allowed.error());
  api.read(call, [&api, call] {
    const auto list = api.parts().access.tokens();
    if (!list.ok()) return call->fail(list.error());
    call->answer(200, to_json(*list));
  });
}

void revoke_token(Api& api, const CallPtr& call) {
  if (auto allowed = call->check_scope_of_all(); !allowed.ok()) return call->fail(allowed.error());
  api.read(call, [&api, call] {
    const std::string& id = call->arguments[0];
    const auto revoked = api.parts().access.revoke(id);
    if (!revoked.ok()) return call->fail(revoked.error());
    if (!*revoked)
      return call->fail({ErrorCode::kNotFound, fmt::format("token {}: there is no token with this id", quote(id))});
    call->answer({.status = 204});
  });
}

}  // namespace

std::vector<Route> token_routes() {
  constexpr std::string_view kAway = "The store is unavailable, or too many reads are waiting";
  return {
      {.method = "POST",
       .pattern = "/v1/tokens",
       .name = "create_token",
       .tag = "tokens",
       .summary = "Create a token; only this answer contains its secret",
       .body = "TokenWish",
       .answers = {{201, "The token with its secret", "NewToken"},
                   {422, "The name or a pattern of queues is not allowed"},
                   {429, "The limit of tokens is reached"},
                   {503, kAway}},
       .handle = make_token},
      {.method = "GET",
       .pattern = "/v1/tokens",
       .name = "list_tokens",
       .tag = "tokens",
       .summary = "List all tokens without their secrets, oldest first",
       .answers = {{200, "The tokens", "Tokens"}, {503, kAway}},
       .handle = list_tokens},
      {.method = "DELETE",
       .pattern = "/v1/tokens/{token}",
       .name = "revoke_token",
       .tag = "tokens",
       .summary = "Revoke a token by its id: requests with it are refused from then on",
       .answers = {{204, "The token is revoked"}, {404, "There is no such token"}, {503, kAway}},
       .handle = revoke_token},
  };
}

}  // namespace horae
