// The routes of the API, as a table: the dispatcher, the OpenAPI document and tests read it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/access/principal.h"
#include "base/clock.h"
#include "base/result.h"
#include "http/limits/caller_share.h"
#include "http/message.h"
#include "http/problem.h"
#include "http/responder.h"

namespace horae {

class Api;
class Call;

// A query parameter.
struct Parameter {
  std::string_view name;
  std::string_view schema;  // JSON Schema: {"type":"integer","minimum":1}
  std::string_view description;
};

// A status that a route may answer with, and the shape of the body: the name of a schema in openapi_schemas.cc, or a
// content type if it is not JSON. 204 has no body. Statuses from 400 on are problem documents unless a shape is given.
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
  std::string_view body = {};     // the name of the schema of the body; empty: no body is read
  bool body_is_optional = false;  // an empty body is accepted
  std::vector<Parameter> parameters = {};
  bool ignores_query = false;  // for probes and scrapers, which may add parameters of their own
  std::vector<Answer> answers;
  void (*handle)(Api& api, const std::shared_ptr<Call>& call);
};

// All routes, in the order of the OpenAPI document.
std::span<const Route> routes();

// All statuses of a route: its own, and those of the checks that precede its handler.
std::vector<Answer> documented_answers(const Route& route);

struct RouteMatch {
  const Route* route = nullptr;        // of this method and path
  std::vector<std::string> arguments;  // the values of the placeholders, decoded
  std::string allowed;                 // without a route: the methods that the path supports, "GET, HEAD"; may be empty
  bool is_malformed = false;           // the path contains a bad escape
};
RouteMatch find_route(std::string_view method, std::string_view path);

// One request until its answer. Callbacks share it.
//
// The members do not change once the route's handler runs; it is answered once, from any thread.
class Call {
 public:
  using Query = std::vector<std::pair<std::string, std::string>>;

  HttpRequest request;
  Responder responder;
  const Route* route = nullptr;
  std::vector<std::string> arguments;
  std::shared_ptr<CallerShare> share = {};  // of the token; null without one
  Principal principal = {};
  Query query = {};
  std::function<void(int status, std::string_view reason)> on_answer = {};  // of a problem: its detail

  // The value of a query parameter, which is not empty; nothing if it is absent.
  std::optional<std::string_view> parameter(std::string_view name) const;

  // What needs a right to read must not stay in a cache: the answer to such a route says so.
  void answer(int status, std::string json) const;
  void answer(HttpResponse response, AnswerSlot::Sent sent = {}) const;
  void stream(HttpResponse head, std::shared_ptr<BodyStream> body) const;
  void fail(const Error& error) const;
  void fail(const ProblemKind& kind, std::string detail) const;
  void fail(Problem problem) const;

  // Calls `work`, which answers the call. If there is no memory for that, answers 503 instead and returns false.
  template <typename Work>
  bool run(const Work& work) const {
    try {
      work();
      return true;
    } catch (const std::bad_alloc&) {
      fail_without_memory();
      return false;
    }
  }
  void fail_without_memory() const;

  // kForbidden if the caller's token does not cover this queue.
  Result<void> check_scope(std::string_view queue) const;

  // kForbidden if it does not cover all queues; for calls that affect them all.
  Result<void> check_scope_of_all() const;
};

// The parameters of a query, each once. kMalformed for one that the route does not have or that is empty, unless it
// ignores the query.
Result<Call::Query> read_query(std::string_view query, const Route& route);

}  // namespace horae
