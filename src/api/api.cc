#include "api/api.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/quote.h"

namespace horae {
namespace {

bool is_json_type(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return equals_ignoring_case(type, kJsonType);
}

HttpResponse no_route(const RouteMatch& match, const HttpRequest& request) {
  if (match.allowed.empty()) {
    return problem_response({.kind = problem_kind("no_such_path"),
                             .detail = fmt::format("{} {}: no route has this path; /docs lists all routes",
                                                   quote(request.method, 16), quote(request.path)),
                             .request = request.id});
  }
  HttpResponse response =
      problem_response({.kind = problem_kind("method_not_allowed"),
                        .detail = fmt::format("{} {}: this path supports {}", quote(request.method, 16),
                                              quote(request.path), match.allowed),
                        .request = request.id});
  response.headers.push_back({"Allow", match.allowed});
  return response;
}

// What is wrong with the body as a whole, before its route parses it.
std::optional<Problem> fault_of(const Call& call) {
  const HttpRequest& request = call.request;
  const auto problem = [](std::string_view name, std::string detail) {
    return Problem{.kind = problem_kind(name), .detail = std::move(detail)};
  };
  if (call.route->body.empty()) return std::nullopt;
  if (request.body.empty()) {
    if (call.route->body_is_optional) return std::nullopt;
    return problem("malformed", "the body is empty; send a JSON object");
  }
  const std::string_view type = request.header("Content-Type");
  if (!type.empty() && !is_json_type(type)) {
    return problem(
        "unsupported_media_type",
        fmt::format("Content-Type {}: send application/json (curl: -H 'Content-Type: application/json')", quote(type)));
  }
  return std::nullopt;
}

std::string token_of(const Call& call) { return call.principal.token_id.empty() ? "none" : call.principal.token_id; }

bool is_refusal_of_the_gate(int status) { return status == 401 || status == 403 || status == 429; }

// The task that the path names.
std::optional<TaskId> task_of(const Call& call) {
  if (call.route->pattern.find("{id}") == std::string_view::npos) return std::nullopt;
  const auto id = parse_uuid(call.arguments[0]);
  return id.ok() ? std::optional(*id) : std::nullopt;
}

// What the gate said of a request when its head had arrived.
struct Admitted {
  RouteMatch match;
  Gate::Decision decision;
  std::shared_ptr<CallerShare> share;
};

// A place in the waiting calls of a share, until it is released. Null if there is none.
std::shared_ptr<void> take_seat(const std::shared_ptr<CallerShare>& share) {
  if (!share->waiting_calls.try_add(1)) return nullptr;
  return {share.get(), [share](void*) { share->waiting_calls.remove(1); }};
}

constexpr std::string_view kRevoked = "this token was revoked, or its rights were changed, during the call";

}  // namespace

Api::Api(ApiParts parts, ApiOptions options)
    : parts_(std::move(parts)),
      guesses_(parts_.clock, parts_.metrics),
      gate_(gate_parts(parts_, guesses_), options.gate),
      shares_(options.token),
      readiness_(parts_.queues, parts_.readiness, parts_.clock),
      requests_(parts_.metrics),
      queue_gauges_(parts_.metrics),
      pool_(options.read_threads, options.max_waiting_reads) {}

Api::~Api() { stop(); }

void Api::start() { pool_.start(); }

void Api::stop() { pool_.stop(); }

// The body of a stranger is not read, and neither is that of a caller without the right.
Admission Api::admit(const HttpRequest& head) {
  RouteMatch match = find_route(head.method, head.path);
  const bool is_open = match.route == nullptr || match.route->access == Access::kOpen;
  Gate::Decision decision = match.route == nullptr ? Gate::Decision() : gate_.decide(head, match.route->access);
  const bool is_refused = decision.refusal.has_value();
  const bool is_known = is_open ? gate_.knows(head) : !is_refused || !decision.principal.token_id.empty();
  auto share = shares_.of(decision.principal.token_id);
  return {.is_known = is_known,
          .reads_body = is_known && !is_refused,
          .share = share,
          .admitted = std::make_shared<Admitted>(Admitted{std::move(match), std::move(decision), std::move(share)})};
}

void Api::handle(HttpRequest request, const Responder& responder) {
  if (!request.admitted) request.admitted = admit(request).admitted;
  const auto admitted = std::static_pointer_cast<Admitted>(std::exchange(request.admitted, nullptr));
  RouteMatch& match = admitted->match;
  if (match.route == nullptr) return responder.answer(no_route(match, request));
  const auto call = std::make_shared<Call>(Call{.request = std::move(request),
                                                .responder = responder,
                                                .route = match.route,
                                                .arguments = std::move(match.arguments),
                                                .share = admitted->share});
  call->on_answer = [this, begun = parts_.clock.now(), answered = call.get()](int status, std::string_view reason) {
    requests_.record(*answered->route, status, parts_.clock.now() - begun);
    if (answered->route->access == Access::kAdmin) {
      audit(*answered, status);
    } else if (is_refusal_of_the_gate(status)) {
      log_refusal(*answered, status, reason);
    }
    if (status >= 500) log_failure(*answered, status, reason);
  };
  Gate::Decision& decision = admitted->decision;
  call->principal = std::move(decision.principal);
  if (decision.refusal) return call->fail(std::move(*decision.refusal));
  if (match.is_malformed)
    return call->fail(problem_kind("malformed"), "path: it contains a bad % escape, or is not UTF-8");
  if (auto fault = fault_of(*call)) return call->fail(fault->kind, std::move(fault->detail));
  auto query = read_query(call->request.query, *match.route);
  if (!query.ok()) return call->fail(query.error());
  call->query = std::move(*query);
  match.route->handle(*this, call);
}

GateParts Api::gate_parts(const ApiParts& parts, GuessLimit& guesses) {
  GateParts with_limit = parts.gate;
  with_limit.guesses = &guesses;
  return with_limit;
}

// Logs each admin call that changed something; of those that were refused, for whatever reason, a sample and a count,
// because any caller can cause them.
void Api::audit(const Call& call, int status) {
  Logger log = parts_.log;
  if (status >= 400 && status < 500) {
    const auto suppressed = refused_admin_.next(parts_.clock.now());
    if (!suppressed) return;
    log = log.with({{"suppressed", *suppressed}});
  }
  log.info("audit", {{"call", std::string(call.route->name)},
                     {"path", call.request.path},
                     {"token", token_of(call)},
                     {"peer", call.request.peer},
                     {"status", status},
                     {"request", call.request.id}});
}

// Calls that are not for admins and were refused for their token: a sample and a count.
void Api::log_refusal(const Call& call, int status, std::string_view reason) {
  const auto suppressed = refusals_.next(parts_.clock.now());
  if (!suppressed) return;
  parts_.log.info("a call was refused", {{"call", std::string(call.route->name)},
                                         {"path", call.request.path},
                                         {"token", token_of(call)},
                                         {"peer", call.request.peer},
                                         {"status", status},
                                         {"reason", reason},
                                         {"request", call.request.id},
                                         {"suppressed", *suppressed}});
}

// While the store is unavailable every call gets 503, so that is logged once a second.
void Api::log_failure(const Call& call, int status, std::string_view reason) {
  const auto suppressed = (status == 503 ? unavailable_ : failures_).next(parts_.clock.now());
  if (!suppressed) return;
  Logger log = parts_.log;
  if (const auto task = task_of(call)) log = log.with({{std::string(kTaskField), to_string(*task)}});
  log.warn("a request failed", {{"route", std::string(call.route->name)},
                                {"status", status},
                                {"reason", reason},
                                {"request", call.request.id},
                                {"suppressed", *suppressed}});
}

void Api::read(const std::shared_ptr<Call>& call, std::function<void()> work) {
  if (try_read(call, std::move(work))) return;
  call->fail(problem_kind("busy"), "too many reads are waiting for the store; retry later");
}

bool Api::try_read(const std::shared_ptr<Call>& call, std::function<void()> work) {
  return pool_.try_run(call->principal.token_id, [call, work = std::move(work)] { call->run(work); });
}

// ---- Long polls ----

void Api::exchange(const std::shared_ptr<Call>& call, Claimer::Call wanted, Duration wait, Reply reply) {
  std::shared_ptr<void> seat;
  const bool waits = wait > Duration::zero();
  if (waits && call->share && !(seat = take_seat(call->share))) {
    return call->fail(problem_kind("over_limit"),
                      fmt::format("token {} has {} calls waiting, the limit of one token; end one, or call without a "
                                  "wait",
                                  call->principal.token_id, call->share->waiting_calls.limit()));
  }
  if (waits) wanted.wait_until = parts_.clock.now() + wait;
  wanted.is_admitted = [this, call] { return is_current(call->principal); };
  wanted.deliver = [this, call, wish = wanted.claim, seat = std::move(seat),
                    reply = std::move(reply)](Claimer::Answer answer) mutable {
    seat.reset();  // before the caller has its answer, and may come again
    return deliver(*call, wish, std::move(answer), reply);
  };
  const Claimer::Ticket ticket = parts_.claimer.exchange(std::move(wanted));
  if (!waits) return;
  call->responder.on_gone([this, ticket] { parts_.claimer.forget(ticket); });
  // The token may have been revoked between the gate and the registry of those that wait.
  if (!is_current(call->principal)) parts_.claimer.end_revoked();
}

// False if nobody gets the tasks. The claimer releases them then, but not those under a token that the worker may
// repeat; if its access was revoked, nobody will come for them, so they are released as well.
bool Api::deliver(const Call& call, const std::optional<ClaimWish>& wish, Claimer::Answer answer, const Reply& reply) {
  if (call.responder.is_gone()) return false;
  if (!is_current(call.principal)) {
    if (wish && wish->once && answer.tasks.ok()) release(*wish, releases_of(wish->owner, *answer.tasks), kRevoked);
    call.fail(Error{ErrorCode::kUnauthenticated, std::string(kRevoked)});
    return false;
  }
  return call.run([&] { reply(std::move(answer)); });
}

void Api::release(const ClaimWish& wish, std::vector<Settlement> releases, std::string_view reason) {
  if (releases.empty()) return;
  parts_.log.info("leased tasks are released",
                  {{"owner", wish.owner}, {"tasks", releases.size()}, {"reason", std::string(reason)}});
  parts_.combiner.settle(std::move(releases), [](const auto&) {});
}

void Api::end_revoked() {
  parts_.claimer.end_revoked();
  parts_.events.wake_all();
}

}  // namespace horae
