#include "api/api.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "api/json/claim_answer.h"
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

void Api::wait_for_tasks(const std::shared_ptr<Call>& call, const ClaimBody& claim) {
  Duration wait = claim.wait;
  std::shared_ptr<void> seat;
  if (wait > Duration::zero() && call->share && !(seat = take_seat(call->share))) {
    return call->fail(problem_kind("over_limit"),
                      fmt::format("token {} has {} claims waiting, the limit of one token; end one, or claim without "
                                  "a wait",
                                  call->principal.token_id, call->share->waiting_calls.limit()));
  }
  WaitId id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = next_wait_++;
    if (is_ending_) wait = Duration::zero();
    waits_[id] = {.call = call, .seat = std::move(seat)};
  }
  const MonotonicTime deadline = parts_.clock.now() + wait;
  const Claimer::Ticket ticket =
      parts_.claimer.wait(claim.wish, deadline, [this, id, call, claim](Result<std::vector<LeasedTask>> given) {
        return deliver(id, call, claim.wish, std::move(given));
      });
  if (wait > Duration::zero()) call->responder.on_gone([this, id, ticket] { forget(id, ticket); });
  set_ticket(id, ticket);
}

// The claimer may have delivered before the ticket is known here, and end_waits() may have been called.
void Api::set_ticket(WaitId id, Claimer::Ticket ticket) {
  Wait ended;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waits_.find(id);
    if (found == waits_.end()) return;
    found->second.ticket = ticket;
    // The token may have been revoked between the gate and the entry in waits_, which end_revoked() reads.
    if (!is_ending_ && is_current(found->second.call->principal)) return;
    ended = std::move(found->second);
    waits_.erase(found);
  }
  end_wait(ended);
}

// The worker is gone. If its claim is under way, deliver() is still called and notices that.
void Api::forget(WaitId id, Claimer::Ticket ticket) {
  if (parts_.claimer.forget(ticket) == Claimer::Forgotten::kIsUnderWay) return;
  const std::lock_guard lock(mutex_);
  waits_.erase(id);
}

// Called by the claimer. False if the worker is gone: the claimer gives the tasks back.
bool Api::deliver(WaitId id, const std::shared_ptr<Call>& call, const ClaimWish& wish,
                  Result<std::vector<LeasedTask>> given) {
  {
    const std::lock_guard lock(mutex_);
    waits_.erase(id);
  }
  if (call->responder.is_gone()) return false;
  if (!is_current(call->principal)) {
    refuse(*call, wish, given);
    return false;
  }
  if (!given.ok()) {
    call->fail(given.error());
    return true;
  }
  return call->run([&] { answer_claim(call, wish, std::move(*given)); });
}

void Api::answer_claim(const std::shared_ptr<Call>& call, const ClaimWish& wish, std::vector<LeasedTask> given) {
  if (wish.once) {
    return deliver_once(*call, std::move(given));
  }
  const std::vector<LeasedTask> surplus = take_surplus(given);
  release(wish, releases_of(wish.owner, surplus), "they exceed the size of one answer");
  call->answer({.body = leased_tasks_json(given)},
               [this, wish, releases = releases_of(wish.owner, given)](bool was_sent) {
                 if (!was_sent) release(wish, releases, "the worker could not receive them");
               });
}

// Releases nothing, neither tasks that do not fit nor those that could not be sent: the worker may have repeated the
// claim at another node with its token, and received them there. The token may hold tasks of queues that this caller's
// own access token does not cover; those are left out.
void Api::deliver_once(Call& call, std::vector<LeasedTask> held) {
  std::erase_if(held, [&call](const LeasedTask& task) { return !call.principal.allows(task.queue); });
  const std::vector<LeasedTask> rest = take_surplus(held);
  call.answer(200, leased_tasks_json(held, rest));
}

// The tasks were never started, so releasing them costs no try. If the release fails as well, the leases expire.
void Api::release(const ClaimWish& wish, std::vector<Settlement> releases, std::string_view reason) {
  if (releases.empty()) return;
  parts_.log.info("leased tasks are released",
                  {{"owner", wish.owner}, {"tasks", releases.size()}, {"reason", std::string(reason)}});
  parts_.combiner.settle(std::move(releases), [](const auto&) {});
}

// The token was revoked while the claim was under way. The claimer releases what it leased, but not under a token that
// the worker may repeat (see Claimer): here nobody will come for the tasks, so they are released as well.
void Api::refuse(const Call& call, const ClaimWish& wish, const Result<std::vector<LeasedTask>>& given) {
  if (wish.once && given.ok()) release(wish, releases_of(wish.owner, *given), kRevoked);
  call.fail(Error{ErrorCode::kUnauthenticated, std::string(kRevoked)});
}

void Api::end_wait(const Wait& wait) {
  const auto forgotten = parts_.claimer.forget(wait.ticket);
  if (forgotten != Claimer::Forgotten::kIsUnderWay && !is_current(wait.call->principal)) {
    return wait.call->fail(Error{ErrorCode::kUnauthenticated, std::string(kRevoked)});
  }
  switch (forgotten) {
    case Claimer::Forgotten::kHeldNothing:
      return wait.call->answer(200, leased_tasks_json({}));
    case Claimer::Forgotten::kMayHoldTasks:
      return wait.call->fail(
          Error{ErrorCode::kUnavailable,
                "this node is stopping, and the outcome of the claim is unknown: repeat it at another node with the "
                "same token"});
    case Claimer::Forgotten::kIsUnderWay:
      return;  // deliver() answers it soon
  }
}

void Api::end_waits() {
  std::vector<Wait> ended;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    std::erase_if(waits_, [&](auto& entry) {
      if (entry.second.ticket == 0) return false;  // set_ticket() ends it
      ended.push_back(std::move(entry.second));
      return true;
    });
  }
  for (const Wait& wait : ended) end_wait(wait);
}

void Api::end_revoked() {
  std::vector<Wait> ended;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(waits_, [&](auto& entry) {
      if (entry.second.ticket == 0 || is_current(entry.second.call->principal)) return false;  // set_ticket() checks
      ended.push_back(std::move(entry.second));
      return true;
    });
  }
  for (const Wait& wait : ended) end_wait(wait);
  parts_.events.wake_all();
}

}  // namespace horae
