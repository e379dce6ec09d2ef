#include "api/test_world.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_scan.h"
#include "engine/wake_ups.h"
#include "stores/sqlite/sqlite_store.h"

namespace horae::testing {

ApiWorld::ApiWorld(ApiOptions options, CombinerOptions combiner, HttpLimits limits)
    : store_(open_sqlite_store(std::string(kSqliteMemory), store_clock_).value()),
      gated_(*store_, gate_),
      observed_(gated_, clock_),
      combiner_(observed_.store().tasks(), combiner),
      claimer_(
          combiner_, observed_.store().tasks(), Logger(said_, clock_), [this] { wake(); }, {}, metrics()),
      api_(
          {
              .combiner = combiner_,
              .tasks = observed_.store().tasks(),
              .queues = observed_.store().queues(),
              .schedules = observed_.store().schedules(),
              .access = observed_.store().tokens(),
              .cluster = observed_.store().cluster(),
              .events = events(),
              .claimer = claimer_,
              .clock = clock_,
              .random = random_,
              .ids = ids_,
              .metrics = metrics(),
              .node = "worker-0",
              .log = Logger(said_, clock_),
              .scheduler_status = [this] { return status_; },
              .gate = {.find_token = [this](std::string_view) { return caller_; },
                       .throttle = [this](const std::string&) { return throttle_; },
                       .is_current = [this](const Principal&) { return !is_revoked_; }},
              .messages = &observed_.store().messages(),
              .delay_queues = &delay_queues_,
          },
          options),
      server_([this](HttpRequest request, const Responder& responder) { api_.handle(std::move(request), responder); },
              {.listen = {"127.0.0.1:0"}, .trusts_local = !options.gate.require_token, .limits = limits}, &clock_,
              no_meter(), [this](const HttpRequest& head) { return api_.admit(head); }) {
  observed_.add(*this);
  (void)api_.readiness().run_once(clock_.now());
  combiner_.start();
  api_.start();
  claimer_thread_ = std::thread([this] {
    while (wakes_.pop()) {
      const std::lock_guard lock(pass_mutex_);
      run_claimer();
    }
  });
}

// As Engine does.
void ApiWorld::on_changes(std::span<const Change> changes) {
  const WakeUps wake_ups = wake_ups_of(changes);
  claimer_.on_wake_ups(wake_ups);
  if (wake_ups.scheduled) ++changed_.scheduled;
  if (wake_ups.cancelled) ++changed_.cancelled;
  if (wake_ups.control) ++changed_.control;
  if (std::ranges::find(changes, Change::Kind::kTokens, &Change::kind) != changes.end()) ++changed_.tokens;
}

// Runs what is due now; what is due later waits for the test's clock.
void ApiWorld::run_claimer() {
  while (claimer_.run_once(clock_.now()) <= clock_.now()) {
  }
}

ApiWorld::~ApiWorld() { stop(); }

void ApiWorld::stop() {
  if (std::exchange(is_stopped_, true)) return;
  gate_.open();
  api_.end_waits();
  client_.reset();
  server_->stop(std::chrono::minutes(1));
  api_.stop();
  claimer_.drain();
  while (claimer_.is_busy()) std::this_thread::yield();
  wakes_.close();
  claimer_thread_.join();
  combiner_.stop();
}

TestResponse ApiWorld::call(std::string_view method, std::string_view target, std::string_view body,
                            std::string_view headers) {
  if (!client_) client_.emplace(server_.port());
  TestResponse response = client_->call(method, target, body, headers);
  if (response.headers["connection"] == "close") client_.reset();
  const RouteMatch match = find_route(method, target.substr(0, target.find('?')));
  if (match.route != nullptr) {
    seen_[fmt::format("{} {}", match.route->method, match.route->pattern)].insert(response.status);
  }
  return response;
}

std::string ApiWorld::submit(std::string_view queue, std::string_view more) {
  const auto response = post(
      "/v1/tasks", fmt::format(R"({{"queue":"{}","spec":{{"n":1.0}}{}{}}})", queue, more.empty() ? "" : ",", more));
  HORAE_CHECK(response.status == 201, "a good task is stored");
  return text_of(response.body, "id");
}

TestResponse ApiWorld::claim(std::string_view queue, int max) {
  return post("/v1/claim", fmt::format(R"({{"owner":"worker-1","queues":["{}"],"max":{}}})", queue, max));
}

TestResponse ApiWorld::settle(std::string_view event, std::string_view id, int attempt, std::string_view more) {
  return post("/v1/settle",
              fmt::format(R"({{"settlements":[{{"event":"{}","id":"{}","attempt":{},"owner":"worker-1"{}{}}}]}})",
                          event, id, attempt, more.empty() ? "" : ",", more));
}

void ApiWorld::advance(Duration by) {
  store_clock_.advance(by);
  clock_.advance(by);
  wake();
}

void ApiWorld::wait_for_waiting(std::size_t count) {
  while (true) {
    {
      const std::lock_guard lock(pass_mutex_);
      if (claimer_.waiting() == count) {
        run_claimer();
        if (claimer_.waiting() == count && !claimer_.is_busy()) return;
      }
    }
    std::this_thread::yield();
  }
}

void ApiWorld::wait_for_arrivals(std::size_t count) {
  while (claimer_.waiting() != count) std::this_thread::yield();
}

void ApiWorld::wait_for_connections(std::size_t count) {
  while (server_->connections() != count) std::this_thread::yield();
}

std::string member(std::string_view json, std::string_view name) {
  const auto members = scan_object(json);
  if (!members.ok()) return "not an object: " + std::string(json);
  for (const JsonMember& each : *members) {
    if (each.key == name) return std::string(each.value);
  }
  return "";
}

std::string text_of(std::string_view json, std::string_view name) {
  const std::string value = member(json, name);
  return value.starts_with('"') ? unescape_json(value) : "no text: " + value;
}

std::vector<std::string> items_of(std::string_view json, std::string_view name) {
  const std::string array = member(json, name);
  const auto elements = scan_array(array);
  if (!elements.ok()) return {};
  return {elements->begin(), elements->end()};
}

std::string problem_of(const TestResponse& response) {
  constexpr std::string_view kPrefix = "urn:horae:problem:";
  const std::string type = text_of(response.body, "type");
  return type.starts_with(kPrefix) ? type.substr(kPrefix.size()) : type;
}

}  // namespace horae::testing
