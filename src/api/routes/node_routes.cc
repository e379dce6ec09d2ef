// A node's health, readiness, metrics and documentation.

#include <memory>

#include "api/api.h"
#include "api/json/json_writer.h"
#include "api/openapi/docs_page.h"
#include "api/openapi/openapi.h"
#include "api/routes/routes.h"
#include "base/version.h"

namespace horae {
namespace {

using CallPtr = std::shared_ptr<Call>;

std::string status_json(std::string_view status) {
  std::string json;
  JsonObject object(json);
  object.add("status", status);
  object.add("version", version());
  object.end();
  return json;
}

void get_health(Api&, const CallPtr& call) { call->answer(200, status_json("ok")); }

void get_readiness(Api& api, const CallPtr& call) {
  const auto ready = api.readiness().state();
  if (!ready.ok()) return call->fail(problem_kind("unavailable"), ready.error().message);
  call->answer(200, status_json("ready"));
}

// While the store is unavailable, the counts keep their last values and horae_store_up is 0.
void get_metrics(Api& api, const CallPtr& call) {
  if (auto allowed = call->check_scope_of_all(); !allowed.ok()) return call->fail(allowed.error());
  api.read(call, [&api, call] {
    const auto queues = api.parts().queues.queues();
    Metrics& metrics = api.parts().metrics;
    if (queues.ok()) api.queue_gauges().publish(*queues);
    metrics.gauge({"horae_store_up", "1 while the store answers"}).set(queues.ok() ? 1 : 0);
    call->answer({.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics.text()});
  });
}

// What every caller may ask for is one buffer for all answers.
void get_openapi(Api&, const CallPtr& call) {
  static const auto kDocument = std::make_shared<const std::string>(openapi_document());
  call->answer({.body = {}, .shared_body = kDocument});
}

// Temporary: a dashboard may take this path.
void get_root(Api&, const CallPtr& call) {
  call->answer({.status = 302,
                .content_type = "text/plain; charset=utf-8",
                .body = "This is Horae; /docs documents its API.\n",
                .headers = {{"Location", "/docs"}}});
}

void get_docs(Api&, const CallPtr& call) {
  static const auto kPage = std::make_shared<const std::string>(docs_page());
  call->answer({.content_type = "text/html; charset=utf-8",
                .body = {},
                .headers = {{"Content-Security-Policy", docs_policy()}},
                .shared_body = kPage});
}

}  // namespace

std::vector<Route> node_routes() {
  return {
      {.method = "GET",
       .pattern = "/",
       .name = "get_root",
       .tag = "node",
       .summary = "Redirect browsers to /docs",
       .access = Access::kOpen,
       .ignores_query = true,
       .answers = {{302, "The address is in `Location`", "text/plain"}},
       .handle = get_root},
      {.method = "GET",
       .pattern = "/healthz",
       .name = "get_health",
       .tag = "node",
       .summary = "Liveness: whether the process answers",
       .access = Access::kOpen,
       .ignores_query = true,
       .answers = {{200, "It answers", "Status"}},
       .handle = get_health},
      {.method = "GET",
       .pattern = "/readyz",
       .name = "get_readiness",
       .tag = "node",
       .summary = "Readiness: whether requests can be served; not while the store is unavailable",
       .access = Access::kOpen,
       .ignores_query = true,
       .answers = {{200, "Ready", "Status"}, {503, "Not ready; `detail` says why"}},
       .handle = get_readiness},
      {.method = "GET",
       .pattern = "/metrics",
       .name = "get_metrics",
       .tag = "node",
       .summary = "Metrics for Prometheus",
       .access = Access::kRead,
       .ignores_query = true,
       .answers = {{200, "Prometheus text format", "text/plain"}, {503, "Too many reads are waiting"}},
       .handle = get_metrics},
      {.method = "GET",
       .pattern = "/openapi.json",
       .name = "get_openapi",
       .tag = "node",
       .summary = "This document",
       .access = Access::kOpen,
       .answers = {{200, "OpenAPI 3.1", "application/json"}},
       .handle = get_openapi},
      {.method = "GET",
       .pattern = "/docs",
       .name = "get_docs",
       .tag = "node",
       .summary = "A page to read and try the API",
       .access = Access::kOpen,
       .answers = {{200, "HTML", "text/html"}},
       .handle = get_docs},
  };
}

}  // namespace horae
