// A server on a free port of the loopback, for tests.
#pragma once

#include <sstream>
#include <utility>

#include "http/server.h"

namespace horae::testing {

// Answers with the path of the request.
inline void echo(const HttpRequest& request, const Responder& responder) { responder.answer({.body = request.path}); }

class TestServer {
 public:
  explicit TestServer(HttpServer::Handler handler, HttpServerOptions options = {.listen = {"127.0.0.1:0"}},
                      const Clock* clock = nullptr, Meter& meter = no_meter(), Admit admit = {})
      : server_(std::move(options), clock != nullptr ? *clock : clock_, Logger(said_, clock_), std::move(handler),
                meter) {
    if (admit) server_.set_admit(std::move(admit));
    const auto started = server_.start();
    HORAE_CHECK(started.ok(), "a free port is free");
  }
  ~TestServer() { stop(); }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  HttpServer* operator->() { return &server_; }
  std::uint16_t port() const { return server_.port(); }
  void stop() { server_.stop(std::chrono::seconds(0)); }
  std::string said() const { return said_.str(); }  // after stop()

 private:
  const SystemClock clock_;
  std::ostringstream said_;
  HttpServer server_;
};

}  // namespace horae::testing
