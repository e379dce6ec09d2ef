#include "http/connection.h"

#include <fmt/format.h>

#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <exception>
#include <utility>

#include "http/problem.h"
#include "http/response_head.h"

namespace horae {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::size_t kReadBytes = 16 << 10;
constexpr std::size_t kMostChunkedBytes = 2;  // for one byte of a body, all in all: chunks have lengths and line ends
constexpr Duration kNoLimit = std::chrono::hours(24 * 365);
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::string address_of(const asio::ip::tcp::socket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return "?";
  const auto address = endpoint.address();
  return fmt::format(fmt::runtime(address.is_v6() ? "[{}]:{}" : "{}:{}"), address.to_string(), endpoint.port());
}

std::string copy(boost::beast::string_view text) { return {text.data(), text.size()}; }

HttpResponse internal_error(std::uint64_t request) {
  return problem_response({.kind = problem_kind("internal"),
                           .detail = "the request was dropped without an answer: this is a bug; see the log",
                           .request = request});
}

// The way back from a handler to its connection.
class PendingAnswer final : public Exchange {
 public:
  PendingAnswer(std::shared_ptr<Connection> connection, std::uint64_t id)
      : connection_(std::move(connection)), id_(id) {}
  ~PendingAnswer() override {
    if (!answered_) answer(internal_error(id_), {});
  }
  PendingAnswer(const PendingAnswer&) = delete;
  PendingAnswer& operator=(const PendingAnswer&) = delete;

  void answer(HttpResponse response, Sent sent) override {
    const bool first = !answered_.exchange(true);
    const bool posted = first && !gone_ && connection_->post_answer(id_, std::move(response), sent);
    if (!posted && sent) sent(false);
  }

  // The connection calls back on its own thread, so a weak pointer keeps the two from holding each other.
  void on_gone(std::function<void()> gone) override {
    connection_->post_watch(id_, [weak = weak_, gone = std::move(gone)] {
      const auto exchange = weak.lock();
      if (!exchange || exchange->answered_ || exchange->gone_.exchange(true)) return;
      gone();
    });
  }

  bool is_gone() const override { return gone_; }

  static std::shared_ptr<PendingAnswer> make(std::shared_ptr<Connection> connection, std::uint64_t id) {
    auto made = std::make_shared<PendingAnswer>(std::move(connection), id);
    made->weak_ = made;
    return made;
  }

 private:
  const std::shared_ptr<Connection> connection_;
  const std::uint64_t id_;
  std::weak_ptr<PendingAnswer> weak_;
  std::atomic<bool> answered_ = false;
  std::atomic<bool> gone_ = false;
};

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, std::shared_ptr<IoLoop> loop, std::shared_ptr<ConnectionHost> host)
    : loop_(std::move(loop)),
      socket_(std::move(socket)),
      host_(std::move(host)),
      peer_(address_of(socket_)),
      buffer_(host_->limits.head_bytes + kReadBytes) {}

void Connection::start(bool is_one_too_many) {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  if (is_one_too_many) {
    request_ = host_->next_request++;
    return refuse(503, fmt::format("there are {} connections already; use one of them again, or try later",
                                   host_->limits.connections));
  }
  next_request();
  enter(Phase::kIdle, host_->limits.head);  // who connects has something to say
}

void Connection::enter(Phase phase, Duration limit) {
  phase_ = phase;
  deadline_ = host_->clock.now() + limit;
}

void Connection::sweep(MonotonicTime now) {
  if (now < deadline_) return;
  if (phase_ != Phase::kHead && phase_ != Phase::kBody) return close();
  const bool is_head = phase_ == Phase::kHead;
  error_code ignored;
  socket_.cancel(ignored);  // the read that waits; it sees by the phase that it is over
  refuse(408, fmt::format("the {} of the request did not arrive within {} s; send it faster, or in smaller parts",
                          is_head ? "head" : "body",
                          std::chrono::duration<double>(is_head ? host_->limits.head : host_->limits.body).count()));
}

void Connection::finish() {
  if (phase_ == Phase::kIdle) close();
}

void Connection::close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
  const auto self = shared_from_this();
  loop_->connections().erase(self);
  host_->on_closed();
}

// ---- Reading ----

void Connection::next_request() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(host_->limits.head_bytes));
  parser_->body_limit(host_->limits.body_bytes);
  taken_ = 0;
  enter(Phase::kIdle, host_->limits.idle);
  if (buffer_.size() > 0) {
    parse();
  } else if (host_->stopping) {
    close();
  } else {
    read_more();
  }
}

void Connection::read_more() {
  socket_.async_read_some(
      buffer_.prepare(kReadBytes),
      [self = shared_from_this()](const error_code& error, std::size_t count) { self->on_read(error, count); });
}

void Connection::on_read(const error_code& error, std::size_t count) {
  if (phase_ != Phase::kIdle && phase_ != Phase::kHead && phase_ != Phase::kBody) return;
  if (error) return close();  // nobody is left to answer
  buffer_.commit(count);
  parse();
}

// Takes what has arrived: perhaps a part of a request, perhaps more than one.
void Connection::parse() {
  if (phase_ == Phase::kIdle) enter(Phase::kHead, host_->limits.head);
  error_code error;
  while (buffer_.size() > 0 && !parser_->is_done() && !error) {
    const std::size_t count = parser_->put(buffer_.data(), error);
    buffer_.consume(count);
    taken_ += count;
    if (error && error != http::error::need_more) return refuse(error);
    if (is_too_long(error == http::error::need_more))
      return refuse(phase_ == Phase::kHead ? http::error::header_limit : http::error::body_limit);
    if (phase_ == Phase::kHead && parser_->is_header_done() && !take_head()) return;
  }
  if (parser_->is_done()) return handle();
  read_more();
}

// Beast's limits hold for what it has not taken yet, so many short headers, or trailers after a body, would pass them.
bool Connection::is_too_long(bool rest_belongs_to_it) const {
  const HttpLimits& limits = host_->limits;
  const std::size_t rest = rest_belongs_to_it ? buffer_.size() : 0;
  if (phase_ == Phase::kHead) return taken_ + rest > limits.head_bytes;
  return rest > limits.head_bytes || taken_ > kMostChunkedBytes * limits.body_bytes + limits.head_bytes;
}

// False if the request ends here, or goes on later.
bool Connection::take_head() {
  enter(Phase::kBody, host_->limits.body);
  taken_ = 0;
  parser_->eager(true);
  if (parser_->get().target().size() > host_->limits.target_bytes) {
    refuse(414, fmt::format("the path and query have {} bytes, at most {} are allowed", parser_->get().target().size(),
                            host_->limits.target_bytes));
    return false;
  }
  if (parser_->is_done() || !equals_ignoring_case(copy(parser_->get()[http::field::expect]), "100-continue")) {
    return true;
  }
  say_continue();
  return false;
}

// The client waits for a word before it sends a large body. The limit on the body was held when the head was read.
void Connection::say_continue() {
  asio::async_write(socket_, asio::buffer(kContinue),
                    [self = shared_from_this()](const error_code& error, std::size_t) {
                      if (self->phase_ != Phase::kBody) return;
                      if (error) return self->close();
                      self->parse();
                    });
}

// ---- Handling ----

void Connection::handle() {
  request_ = host_->next_request++;
  keep_alive_ = parser_->keep_alive();
  HttpRequest request = take_request();
  wants_body_ = request.method != "HEAD";
  enter(Phase::kHandling, kNoLimit);
  const Responder responder(PendingAnswer::make(shared_from_this(), request_));
  try {
    host_->handler(std::move(request), responder);
  } catch (const std::exception& thrown) {
    host_->log.error("a handler threw", {{"request", request_}, {"reason", thrown.what()}});
  }
}

HttpRequest Connection::take_request() {
  auto message = parser_->release();
  HttpRequest request{.id = request_, .method = copy(message.method_string()), .peer = peer_};
  const boost::beast::string_view target = message.target();
  const std::size_t question = target.find('?');
  request.path = copy(target.substr(0, question));
  if (question != boost::beast::string_view::npos) request.query = copy(target.substr(question + 1));
  for (const auto& field : message) request.headers.push_back({copy(field.name_string()), copy(field.value())});
  request.body = std::move(message.body());
  return request;
}

bool Connection::post_answer(std::uint64_t id, HttpResponse response, Exchange::Sent& sent) {
  if (loop_->is_here()) {
    answer(id, std::move(response), std::move(sent));
    return true;
  }
  // A refused post must leave `sent` to the caller, and a lambda that moved it away could not give it back.
  return loop_->post([self = shared_from_this(), id, response = std::move(response), sent]() mutable {
    self->answer(id, std::move(response), std::move(sent));
  });
}

void Connection::answer(std::uint64_t id, HttpResponse response, Exchange::Sent sent) {
  if (phase_ != Phase::kHandling || id != request_) {
    if (sent) sent(false);
    return;
  }
  write(std::move(response), id, wants_body_, std::move(sent));
}

void Connection::post_watch(std::uint64_t id, std::function<void()> gone) {
  (void)loop_->post(
      [self = shared_from_this(), id, gone = std::move(gone)]() mutable { self->watch(id, std::move(gone)); });
}

void Connection::watch(std::uint64_t id, std::function<void()> gone) {
  if (phase_ == Phase::kClosed && id == request_) return gone();
  if (phase_ != Phase::kHandling || id != request_) return;
  socket_.async_wait(asio::ip::tcp::socket::wait_read, [self = shared_from_this(), id, gone = std::move(gone)](
                                                           const error_code&) { self->on_readable(id, gone); });
}

// While a request is handled, the next one or the end of the client makes the socket readable.
void Connection::on_readable(std::uint64_t id, const std::function<void()>& gone) {
  if (id != request_) return;
  if (phase_ == Phase::kClosed) return gone();
  if (phase_ != Phase::kHandling) return;
  char byte = 0;
  error_code error;
  const std::size_t count = socket_.receive(asio::buffer(&byte, 1), asio::ip::tcp::socket::message_peek, error);
  if (error == asio::error::would_block) return watch(id, gone);
  if (!error && count > 0) return;
  close();
  gone();
}

// ---- Answering ----

void Connection::refuse(const error_code& error) {
  const HttpLimits& limits = host_->limits;
  if (error == http::error::body_limit) {
    return refuse(413,
                  fmt::format("at most {} bytes are allowed; send less, or in several requests", limits.body_bytes));
  }
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    if (parser_->get().target().empty()) {
      return refuse(414, fmt::format("the request line has more than {} bytes", limits.head_bytes));
    }
    return refuse(431, fmt::format("the request line and headers have more than {} bytes", limits.head_bytes));
  }
  refuse(400, fmt::format("this is not a request of HTTP/1.1: {}", error.message()));
}

void Connection::refuse(int status, std::string detail) {
  static constexpr std::array<std::pair<int, std::string_view>, 6> kNames = {{{400, "not_http"},
                                                                              {408, "too_slow"},
                                                                              {413, "body_too_large"},
                                                                              {414, "target_too_long"},
                                                                              {431, "head_too_large"},
                                                                              {503, "busy"}}};
  if (phase_ != Phase::kHandling) request_ = host_->next_request++;
  for (const auto& [known, name] : kNames) {
    if (known != status) continue;
    keep_alive_ = false;
    return write(problem_response({.kind = problem_kind(name), .detail = std::move(detail), .request = request_}),
                 request_, true, {});
  }
}

void Connection::write(HttpResponse response, std::uint64_t id, bool has_body, Exchange::Sent sent) {
  keep_alive_ = keep_alive_ && !host_->stopping;
  head_out_ = response_head(response, id, keep_alive_, host_->clock.wall_now());
  body_out_ = has_body ? std::move(response.body) : std::string();
  enter(Phase::kWriting, host_->limits.write);
  const std::array<asio::const_buffer, 2> buffers = {asio::buffer(head_out_), asio::buffer(body_out_)};
  asio::async_write(socket_, buffers,
                    [self = shared_from_this(), sent = std::move(sent)](const error_code& error, std::size_t) {
                      self->on_written(error, sent);
                    });
}

void Connection::on_written(const error_code& error, const Exchange::Sent& sent) {
  if (sent) sent(!error);
  if (phase_ != Phase::kWriting) return;
  if (error) return close();
  if (!keep_alive_) return linger();
  next_request();
}

// A client that still sends would lose our last answer to a reset, so we say that it was the last one and listen until
// the client has gone, for a while.
void Connection::linger() {
  enter(Phase::kLingering, host_->limits.linger);
  error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  drain();
}

void Connection::drain() {
  buffer_.clear();
  socket_.async_read_some(buffer_.prepare(kReadBytes),
                          [self = shared_from_this()](const error_code& error, std::size_t) {
                            if (self->phase_ != Phase::kLingering) return;
                            if (error) return self->close();
                            self->drain();
                          });
}

}  // namespace horae
