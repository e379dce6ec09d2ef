// What the node answers to, as data: tests and the OpenAPI document walk this table.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/access/principal.h"
#include "base/clock.h"
#include "base/result.h"
#include "http/message.h"
#include "http/problem.h"
#include "http/responder.h"

namespace horae {

class Api;
class Call;

// A part of the query of a request.
struct Parameter {
  std::string_view name;
  std::string_view schema;  // JSON Schema: {"type":"integer","minimum":1}
  std::string_view description;
};

// A status that a route may answer with, and the shape of the body: the name of a schema of openapi_schemas.h, or a
// content type if it is no JSON. 204 has no body. Statuses from 400 on are problems unless they say otherwise.
struct Answer {
  int status;
  std::string_view description;
  std::string_view shape = {};
};

struct Route {
  std::string_view method;
  std::string_view pattern;  // "/v1/tasks/{id}"
  std::string_view name;     // "get_task": unique, for the OpenAPI document and metrics
  std::string_view tag;
  std::string_view summary;
  Access access = Access::kAdmin;
  std::string_view body = {};     // the name of the schema of the body; empty if none is read
  bool body_is_optional = false;  // an empty one will do
  std::vector<Parameter> parameters = {};
  bool ignores_query = false;  // for probes and scrapers, which may add what means nothing here
  std::vector<Answer> answers;
  void (*handle)(Api& api, const std::shared_ptr<Call>& call);
};

// All routes, in the order of the documentation.
std::span<const Route> routes();

// What a route may answer with: its own statuses, and those of what is read and checked before it is asked.
std::vector<Answer> documented_answers(const Route& route);

struct RouteMatch {
  const Route* route = nullptr;        // of this method and path
  std::vector<std::string> arguments;  // what stands in the place of each {}, decoded
  std::string allowed;                 // without a route: methods that the path knows, "GET, POST"; empty if none
  bool is_malformed = false;           // the path has a bad escape
};
RouteMatch find_route(std::string_view method, std::string_view path);

// One request on its way to its answer. Callbacks share it.
//
// Threads: the request does not change; the answer may come from any thread, once.
class Call {
 public:
  using Query = std::vector<std::pair<std::string, std::string>>;

  HttpRequest request;
  Responder responder;
  const Route* route = nullptr;
  std::vector<std::string> arguments;
  Principal principal = {};
  Query query = {};
  std::function<void(int status, std::string_view reason)> on_answer = {};  // of a problem: its detail

  // The value of a part of the query; nothing if it is absent or empty.
  std::optional<std::string_view> parameter(std::string_view name) const;

  void answer(int status, std::string json) const;
  void answer(HttpResponse response, AnswerSlot::Sent sent = {}) const;
  void stream(HttpResponse head, std::shared_ptr<BodyStream> body) const;
  void fail(const Error& error) const;
  void fail(const ProblemKind& kind, std::string detail) const;
  void fail(Problem problem) const;

  // kForbidden if the caller's token is not for this queue.
  Result<void> check_scope(std::string_view queue) const;

  // kForbidden if it is not for all queues, for what concerns them all.
  Result<void> check_scope_of_all() const;
};

// The parts of a query, each once. kMalformed for one that the route does not know, unless it ignores all.
Result<Call::Query> read_query(std::string_view query, const Route& route);

}  // namespace horae
