#include "api/access/new_token.h"

#include <utility>

#include "api/access/token_text.h"
#include "api/json/field_reader.h"
#include "api/json/json_writer.h"

namespace horae {
namespace {

constexpr int kMostIds = 3;  // tries to find a free id; the first one is almost always free

void add_members(JsonObject& object, const Token& token) {
  object.add("id", token.id);
  object.add("name", token.name);
  object.add("role", to_string(token.role));
  append_json_array(object.key("queues"), token.scope.patterns(), append_json_string);
  object.add("created_at", token.created_at);
}

void append_token(std::string& out, const Token& token) {
  JsonObject object(out);
  add_members(object, token);
  object.end();
}

}  // namespace

Result<TokenWish> read_token_wish(std::string_view body) {
  FieldReader fields(body, {"name", "role", "queues"});
  for (const std::string_view name : {"name", "role", "queues"}) fields.require(name);
  std::string name = fields.text("name").value_or("");
  const std::string role_text = fields.text("role").value_or("");
  const auto role = parse_role(role_text);
  if (!role) fields.fail_text("role", role_text, "give read, submit, work or admin");
  auto patterns = fields.texts("queues");
  if (fields.fault()) return *fields.fault();
  auto scope = QueueScope::of(std::move(patterns).value_or(std::vector<std::string>()));
  if (!scope.ok()) return scope.error();
  return TokenWish{.name = std::move(name), .role = *role, .scope = std::move(*scope)};
}

Result<NewToken> create_token(TokenStore& store, Random& random, const TokenWish& wish) {
  for (int tried = 1;; ++tried) {
    NewSecret secret = make_secret(random);
    auto kept = store.create(
        {.id = std::move(secret.id), .name = wish.name, .role = wish.role, .scope = wish.scope, .hash = secret.hash});
    if (kept.ok()) return NewToken{.token = std::move(*kept), .secret = std::move(secret.text)};
    if (kept.error().code != ErrorCode::kConflict || tried == kMostIds) return kept.error();
  }
}

std::string to_json(const NewToken& made) {
  std::string json;
  JsonObject object(json);
  add_members(object, made.token);
  object.add("secret", made.secret);
  object.end();
  return json;
}

std::string to_json(const TokenList& list) {
  std::string json;
  JsonObject object(json);
  append_json_array(object.key("tokens"), list.tokens, append_token);
  object.end();
  return json;
}

}  // namespace horae
