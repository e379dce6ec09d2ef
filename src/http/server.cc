#include "http/server.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "http/connection.h"
#include "http/io_loop.h"
#include "http/listen_address.h"
#include "http/tls_context.h"

namespace horae {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr int kBacklog = 1024;
constexpr Duration kPauseAfterFailedAccept = std::chrono::milliseconds(100);

std::string to_text(const tcp::endpoint& endpoint) {
  const auto address = endpoint.address();
  return fmt::format(fmt::runtime(address.is_v6() ? "[{}]:{}" : "{}:{}"), address.to_string(), endpoint.port());
}

Error listen_error(std::string_view address, const error_code& error) {
  const bool in_use = error == asio::error::address_in_use;
  return {in_use ? ErrorCode::kConflict : ErrorCode::kUnavailable,
          fmt::format("cannot listen on {}: {}{}", address, error.message(),
                      in_use ? "; stop the other server, or choose another port" : "")};
}

std::chrono::steady_clock::duration for_timer(Duration duration) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(duration);
}

}  // namespace

// The first loop's thread accepts connections for all loops.
class HttpServer::Core {
 public:
  Core(HttpServerOptions options, const Clock& clock, Logger log, Handler handler, Meter& meter)
      : options_(std::move(options)),
        host_(new ConnectionHost{
            .limits = options_.limits,
            .clock = clock,
            .log = std::move(log),
            .handler = std::move(handler),
            .failed_assertions = meter.counter(
                {"horae_http_failed_assertions_total", "Connections closed because an assertion of Boost failed"})}) {
    HORAE_CHECK(options_.threads > 0, "a server needs a thread");
    host_->on_closed = [this] { on_closed(); };
    for (int i = 0; i < options_.threads; ++i) loops_.push_back(std::make_shared<IoLoop>(host_->log));
    for (const auto& loop : loops_) sweepers_.emplace_back(loop->context());
  }

  void set_admit(Admit admit) {
    host_->admit = std::move(admit);
    host_->trusts_local = options_.trusts_local;
  }

  Result<void> start() {
    if (auto checked = check_exposure(options_); !checked.ok()) return checked;
    if (auto loaded = reload_certificates(); !loaded.ok()) return loaded;
    for (const std::string& text : options_.listen) {
      if (auto bound = bind(text); !bound.ok()) return bound;
    }
    for (auto& acceptor : acceptors_) accept(*acceptor);
    for (std::size_t i = 0; i < loops_.size(); ++i) sweep_later(i);
    for (const auto& loop : loops_) loop->start();
    is_started_ = true;
    return {};
  }

  void stop(Duration grace) {
    if (!is_started_) return;
    is_started_ = false;
    host_->stopping = true;
    (void)loops_[0]->post([this] {
      for (auto& acceptor : acceptors_) acceptor->acceptor.close();
    });
    on_all_connections([](Connection& connection) { connection.finish(); });
    asio::steady_timer end(loops_[0]->context(), for_timer(grace));
    end.async_wait([this](const error_code& error) {
      if (!error) on_all_connections([](Connection& connection) { connection.close(); });
    });
    wait_until_empty();
    // The timers' handlers run on their loops, so the timers are cancelled there.
    has_ended_ = true;
    (void)loops_[0]->post([&end] { end.cancel(); });
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      (void)loops_[i]->post([this, i] { sweepers_[i].cancel(); });
    }
    for (const auto& loop : loops_) loop->end();
  }

  Result<void> reload_certificates() {
    if (options_.tls.certificate.empty()) return {};
    auto loaded = TlsContext::load(options_.tls);
    if (!loaded.ok()) return loaded.error();
    const std::lock_guard lock(mutex_);
    tls_ = std::move(*loaded);
    return {};
  }

  std::vector<std::string> addresses() const {
    std::vector<std::string> all;
    for (const auto& acceptor : acceptors_) all.push_back(to_text(acceptor->local));
    return all;
  }

  std::vector<std::string> urls() const {
    std::vector<std::string> all;
    for (const auto& acceptor : acceptors_) {
      all.push_back((acceptor->is_tls ? "https://" : "http://") + to_text(acceptor->local));
    }
    return all;
  }

  std::uint16_t port() const { return acceptors_.front()->local.port(); }

  std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return connections_;
  }

  std::size_t strangers() const { return host_->strangers->connections.held(); }

  std::size_t bytes_in_flight() const { return host_->bytes.held(); }

 private:
  struct Acceptor {
    explicit Acceptor(asio::io_context& context) : acceptor(context), pause(context) {}
    tcp::acceptor acceptor;
    tcp::endpoint local;
    asio::steady_timer pause;
    bool is_local = true;
    bool is_tls = false;
    bool waits_for_room = false;
    bool has_failed = false;  // the last accept
  };

  Result<void> bind(const std::string& text) {
    const auto address = parse_listen_address(text);
    if (!address.ok()) return address.error();
    auto made = std::make_unique<Acceptor>(loops_[0]->context());
    made->is_local = address->is_loopback;
    made->is_tls = wants_tls(*address, options_);
    const tcp::endpoint endpoint(asio::ip::make_address(address->address), address->port);
    error_code error;
    tcp::acceptor& acceptor = made->acceptor;
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(kBacklog, error);
    if (error) return listen_error(text, error);
    made->local = acceptor.local_endpoint();
    acceptors_.push_back(std::move(made));
    return {};
  }

  void accept(Acceptor& acceptor) {
    const std::shared_ptr<IoLoop>& loop = loops_[next_loop_++ % loops_.size()];
    acceptor.acceptor.async_accept(loop->context(),
                                   [this, &acceptor, loop](const error_code& error, tcp::socket socket) {
                                     on_accepted(acceptor, loop, error, std::move(socket));
                                   });
  }

  void on_accepted(Acceptor& acceptor, const std::shared_ptr<IoLoop>& loop, const error_code& error,
                   tcp::socket socket) {
    if (host_->stopping || !acceptor.acceptor.is_open()) return;
    if (error) return accept_later(acceptor, error);
    if (std::exchange(acceptor.has_failed, false)) {
      host_->log.info("accepting connections again", {{"address", to_text(acceptor.local)}});
    }
    const std::size_t count = add_connection();
    (void)loop->post([this, loop, count, socket = std::move(socket), door = door_of(acceptor)]() mutable {
      adopt(loop, std::move(socket), door, count > options_.limits.connections);
    });
    if (count < options_.limits.connections + kRefusedAtOnce) {
      accept(acceptor);
    } else {
      acceptor.waits_for_room = true;
    }
  }

  ConnectionDoor door_of(const Acceptor& acceptor) const {
    const std::lock_guard lock(mutex_);
    return {.is_local = acceptor.is_local, .tls = acceptor.is_tls ? tls_ : nullptr};
  }

  // Runs on the connection's own thread.
  void adopt(const std::shared_ptr<IoLoop>& loop, tcp::socket socket, const ConnectionDoor& door,
             bool is_one_too_many) {
    const auto connection = std::make_shared<Connection>(std::move(socket), door, loop, host_);
    loop->connections().insert(connection);
    connection->start(is_one_too_many);
    if (host_->stopping) connection->finish();
  }

  // Most likely the process is out of file descriptors: retrying immediately would burn the CPU, and logging each try
  // would fill the log.
  void accept_later(Acceptor& acceptor, const error_code& error) {
    if (!std::exchange(acceptor.has_failed, true)) {
      host_->log.warn("cannot accept connections at present; open ones are still served",
                      {{"address", to_text(acceptor.local)}, {"reason", error.message()}});
    }
    acceptor.pause.expires_after(for_timer(kPauseAfterFailedAccept));
    acceptor.pause.async_wait([this, &acceptor](const error_code& cancelled) {
      if (!cancelled && !host_->stopping) accept(acceptor);
    });
  }

  std::size_t add_connection() {
    const std::lock_guard lock(mutex_);
    return ++connections_;
  }

  void on_closed() {
    std::size_t left = 0;
    {
      const std::lock_guard lock(mutex_);
      left = --connections_;
      if (left == 0) is_empty_.notify_all();
    }
    if (left + 1 != options_.limits.connections + kRefusedAtOnce) return;
    (void)loops_[0]->post([this] {
      for (auto& acceptor : acceptors_) {
        if (std::exchange(acceptor->waits_for_room, false) && !host_->stopping) accept(*acceptor);
      }
    });
  }

  void sweep_later(std::size_t index) {
    sweepers_[index].expires_after(for_timer(options_.limits.sweep));
    sweepers_[index].async_wait([this, index](const error_code& cancelled) {
      if (cancelled || has_ended_) return;
      const MonotonicTime now = host_->clock.now();
      each_connection(*loops_[index], [now](Connection& connection) { connection.sweep(now); });
      sweep_later(index);
    });
  }

  // A connection may leave the set while it is visited.
  template <typename Visit>
  static void each_connection(IoLoop& loop, const Visit& visit) {
    const std::vector<std::shared_ptr<Connection>> all(loop.connections().begin(), loop.connections().end());
    for (const auto& connection : all) visit(*connection);
  }

  template <typename Visit>
  void on_all_connections(Visit visit) {
    for (const auto& loop : loops_) {
      (void)loop->post([loop, visit] { each_connection(*loop, visit); });
    }
  }

  void wait_until_empty() {
    std::unique_lock lock(mutex_);
    is_empty_.wait(lock, [this] { return connections_ == 0; });
  }

  const HttpServerOptions options_;
  const std::shared_ptr<ConnectionHost> host_;
  std::vector<std::shared_ptr<IoLoop>> loops_;
  std::vector<asio::steady_timer> sweepers_;          // one for each loop, used by its thread
  std::vector<std::unique_ptr<Acceptor>> acceptors_;  // used by the first loop's thread
  std::size_t next_loop_ = 0;                         // used by the first loop's thread
  bool is_started_ = false;
  std::atomic<bool> has_ended_ = false;  // no connections are left to sweep

  mutable std::mutex mutex_;
  std::condition_variable is_empty_;
  std::size_t connections_ = 0;            // guarded by mutex_; accepted and not yet closed
  std::shared_ptr<const TlsContext> tls_;  // guarded by mutex_; for new connections
};

HttpServer::HttpServer(HttpServerOptions options, const Clock& clock, Logger log, Handler handler, Meter& meter)
    : core_(std::make_unique<Core>(std::move(options), clock, std::move(log), std::move(handler), meter)) {}

HttpServer::~HttpServer() { stop(Duration::zero()); }

void HttpServer::set_admit(Admit admit) { core_->set_admit(std::move(admit)); }
Result<void> HttpServer::start() { return core_->start(); }
void HttpServer::stop(Duration grace) { core_->stop(grace); }
Result<void> HttpServer::reload_certificates() { return core_->reload_certificates(); }
std::vector<std::string> HttpServer::addresses() const { return core_->addresses(); }
std::vector<std::string> HttpServer::urls() const { return core_->urls(); }
std::uint16_t HttpServer::port() const { return core_->port(); }
std::size_t HttpServer::connections() const { return core_->connections(); }
std::size_t HttpServer::strangers() const { return core_->strangers(); }
std::size_t HttpServer::bytes_in_flight() const { return core_->bytes_in_flight(); }

}  // namespace horae
