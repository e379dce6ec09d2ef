#include "api/route.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/routes/routes.h"
#include "base/quote.h"
#include "http/uri.h"

namespace horae {
namespace {

bool is_placeholder(std::string_view segment) { return segment.starts_with('{'); }

// The number of literal segments in the pattern; nothing if it does not match the path.
std::optional<int> words_that_fit(const std::vector<std::string_view>& pattern,
                                  const std::vector<std::string_view>& path) {
  if (pattern.size() != path.size()) return std::nullopt;
  int words = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (is_placeholder(pattern[i])) {
      if (path[i].empty()) return std::nullopt;
    } else if (pattern[i] != path[i]) {
      return std::nullopt;
    } else {
      ++words;
    }
  }
  return words;
}

struct SplitRoute {
  const Route* route;
  std::vector<std::string_view> segments;
};

const std::vector<SplitRoute>& split_routes() {
  static const std::vector<SplitRoute> kSplit = [] {
    std::vector<SplitRoute> all;
    for (const Route& route : routes()) all.push_back({&route, split(route.pattern, '/')});
    return all;
  }();
  return kSplit;
}

std::string names_of(const std::vector<Parameter>& parameters) {
  std::string names;
  for (const Parameter& parameter : parameters) {
    if (!names.empty()) names += ", ";
    names += parameter.name;
  }
  return names.empty() ? "none" : names;
}

// The methods of the patterns that match the path with so many literal segments. A route for GET also answers HEAD.
std::string methods_of(const std::vector<std::string_view>& path, int words) {
  std::string all;
  for (const SplitRoute& each : split_routes()) {
    if (words_that_fit(each.segments, path) != words) continue;
    if (!all.empty()) all += ", ";
    all += each.route->method;
    if (each.route->method == "GET") all += ", HEAD";
  }
  return all;
}

}  // namespace

std::span<const Route> routes() {
  static const std::vector<Route> kAll = [] {
    std::vector<Route> all;
    for (auto part : {task_routes(), worker_routes(), queue_routes(), delay_routes(), schedule_routes(),
                      cluster_routes(), token_routes(), compat_routes(), node_routes()}) {
      std::ranges::move(part, std::back_inserter(all));
    }
    return all;
  }();
  return kAll;
}

std::vector<Answer> documented_answers(const Route& route) {
  std::vector<Answer> answers = route.answers;
  const auto add = [&](int status, std::string_view description) {
    if (std::ranges::find(answers, status, &Answer::status) == answers.end()) answers.push_back({status, description});
  };
  if (route.access != Access::kOpen) {
    add(401, "A token is required, or this one is unknown");
    add(403, "The token does not allow this, or the request comes from a page of another site");
    add(429,
        "This token exceeds its rate limit, or this address sent too many unknown tokens; `Retry-After` says when to "
        "retry");
  }
  if (!route.ignores_query) add(400, "The request is malformed");
  if (!route.body.empty()) {
    add(413, "The body is larger than the node allows (`http.max_body`)");
    add(415, "The body is not application/json");
  }
  std::ranges::sort(answers, {}, &Answer::status);
  return answers;
}

// Of several patterns that match, the one with more literal segments wins, whatever the method: /v1/tasks/batch is not
// the task "batch" of /v1/tasks/{id}.
RouteMatch find_route(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  const std::vector<std::string_view> segments = split(path, '/');
  RouteMatch match;
  const SplitRoute* best = nullptr;
  int most_words = -1;
  for (const SplitRoute& each : split_routes()) {
    const auto words = words_that_fit(each.segments, segments);
    if (!words || *words < most_words) continue;
    if (*words > most_words) best = nullptr;
    most_words = *words;
    if (each.route->method == method && best == nullptr) best = &each;
  }
  if (best == nullptr) {
    if (most_words >= 0) match.allowed = methods_of(segments, most_words);
    return match;
  }
  match.route = best->route;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (!is_placeholder(best->segments[i])) continue;
    const auto decoded = decode_percent(segments[i], false);
    if (!decoded) match.is_malformed = true;
    match.arguments.push_back(decoded.value_or(""));
  }
  return match;
}

Result<Call::Query> read_query(std::string_view query, const Route& route) {
  Call::Query parts;
  if (query.empty() || route.ignores_query) return parts;
  for (const std::string_view part : split(query, '&')) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const auto name = decode_percent(part.substr(0, equals), true);
    const auto value = decode_percent(part.substr(std::min(equals + 1, part.size())), true);
    if (!name || !value) {
      return Error{ErrorCode::kMalformed,
                   fmt::format("query {}: it contains a bad % escape, or is not UTF-8", quote(part))};
    }
    if (std::ranges::find(route.parameters, *name, &Parameter::name) == route.parameters.end()) {
      return Error{ErrorCode::kMalformed, fmt::format("query {}: this route has no such parameter; it accepts {}",
                                                      quote(*name), names_of(route.parameters))};
    }
    if (value->empty()) {  // most likely a variable of a script without a value, which must not mean "all"
      return Error{ErrorCode::kMalformed,
                   fmt::format("query {}: it is empty; leave it out, or give a value", quote(*name))};
    }
    if (std::ranges::find(parts, *name, &Call::Query::value_type::first) != parts.end()) {
      return Error{ErrorCode::kMalformed, fmt::format("query {}: it is given twice; give it once", quote(*name))};
    }
    parts.emplace_back(*name, *value);
  }
  return parts;
}

std::optional<std::string_view> Call::parameter(std::string_view name) const {
  const auto found = std::ranges::find(query, name, &Query::value_type::first);
  if (found == query.end()) return std::nullopt;
  return found->second;
}

void Call::answer(int status, std::string json) const { answer({.status = status, .body = std::move(json)}); }

void Call::answer(HttpResponse response, AnswerSlot::Sent sent) const {
  if (route->access != Access::kOpen) response.headers.push_back({"Cache-Control", "no-store"});
  if (on_answer) on_answer(response.status, {});
  responder.answer(std::move(response), std::move(sent));
}

void Call::stream(HttpResponse head, std::shared_ptr<BodyStream> body) const {
  head.headers.push_back({"Cache-Control", "no-store"});
  if (on_answer) on_answer(head.status, {});
  responder.stream(std::move(head), std::move(body));
}

Result<void> Call::check_scope(std::string_view queue) const {
  if (principal.allows(queue)) return {};
  return Error{ErrorCode::kForbidden, fmt::format("queue {}: token {} is for {} only", quote(queue), principal.token_id,
                                                  fmt::join(principal.scope->patterns(), ", "))};
}

Result<void> Call::check_scope_of_all() const {
  if (principal.scope == nullptr) return {};
  return Error{ErrorCode::kForbidden, fmt::format("this affects all queues, and token {} is for {} only",
                                                  principal.token_id, fmt::join(principal.scope->patterns(), ", "))};
}

void Call::fail(const Error& error) const { fail(problem_kind(error.code), error.message); }

void Call::fail(const ProblemKind& kind, std::string detail) const {
  fail({.kind = kind, .detail = std::move(detail)});
}

void Call::fail_without_memory() const {
  fail(problem_kind("busy"), "this node has no memory for this request; retry later, or ask for less");
}

void Call::fail(Problem problem) const {
  problem.request = request.id;
  if (on_answer) on_answer(problem.kind.status, problem.detail);
  responder.answer(problem_response(problem));
}

}  // namespace horae
