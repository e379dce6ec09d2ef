// The life of a connection and its reading; its writing is in connection_output.cc.
#include "http/connection.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "http/pending_answer.h"
#include "http/problem.h"
#include "http/request_parser.h"

namespace horae {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::size_t kMostChunkedBytes =
    2;  // on the wire for one byte of a body, on average: chunks have lengths and line ends
constexpr std::size_t kLastChunkBytes = 5;  // at least: "0\r\n\r\n"
constexpr Duration kNoLimit = std::chrono::hours(24 * 365);
constexpr int kUnsentBytes = 64 << 10;  // that the kernel may keep for a client that does not read

std::string address_of(const asio::ip::tcp::socket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return "?";
  const auto address = endpoint.address();
  return fmt::format(fmt::runtime(address.is_v6() ? "[{}]:{}" : "{}:{}"), address.to_string(), endpoint.port());
}

std::unique_ptr<Transport> make_transport(asio::ip::tcp::socket& socket, const ConnectionDoor& door) {
  if (!door.tls) return make_plain_transport(socket.native_handle());
  return make_tls_transport(socket.native_handle(), door.tls->new_session());
}

std::string copy(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct Connection::Reading {
  std::optional<RequestParser> parser;
  std::size_t taken = 0;      // bytes of the head, or of the body
  std::size_t head = 0;       // bytes of the head, once it is complete
  std::size_t announced = 0;  // bytes of the body, which the parser reserves
  HttpRequest request;        // without its body, once the head is complete
  std::string rest;           // bytes that arrived and are not parsed yet: from `at` on
  std::size_t at = 0;
  HeldBytes held;  // of the request and the rest

  Reading(ConnectionHost& host, std::shared_ptr<CallerShare> share) : held(host.bytes, std::move(share)) {
    begin(host.limits);
  }

  // Begins the next request, whose first bytes may be in the rest.
  void begin(const HttpLimits& limits) {
    parser.emplace();
    parser->header_limit(static_cast<std::uint32_t>(limits.head_bytes));
    parser->body_limit(limits.body_bytes);
    taken = head = announced = 0;
  }

  std::size_t unparsed() const { return rest.size() - at; }
  std::size_t bytes() const { return head + std::max(announced, taken) + unparsed(); }

  // All bytes that can be parsed now. Usually there is no rest, and nothing is copied.
  std::string_view with_rest(std::string_view fresh) {
    if (rest.empty()) return fresh;
    rest.erase(0, std::exchange(at, 0));
    rest.append(fresh);
    return rest;
  }

  // `input` is the unparsed end of what with_rest() returned.
  void keep(std::string_view input) {
    if (rest.empty()) {
      rest = std::string(input);
    } else if (input.empty()) {
      rest.clear();
      at = 0;
    } else {
      at = rest.size() - input.size();
    }
  }
};

Connection::Connection(asio::ip::tcp::socket socket, const ConnectionDoor& door, std::shared_ptr<IoLoop> loop,
                       std::shared_ptr<ConnectionHost> host)
    : loop_(std::move(loop)),
      socket_(std::move(socket)),
      host_(std::move(host)),
      transport_(make_transport(socket_, door)),
      peer_(address_of(socket_)),
      peer_address_(PeerLimits::peer_of(socket_)),
      is_local_(door.is_local),
      is_tls_(door.tls != nullptr),
      is_trusted_(!host_->admit || (door.is_local && host_->trusts_local)) {}

Connection::~Connection() = default;

void Connection::start(bool is_one_too_many) {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  (void)::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes, sizeof(kUnsentBytes));
  if (!finds_place(is_one_too_many)) return;
  enter(Phase::kIdle, host_->limits.head);  // a client that connects is expected to send a request soon
  watch_input();
}

void Connection::enter(Phase phase, Duration limit) {
  phase_ = phase;
  deadline_ = host_->clock.now() + limit;
}

void Connection::sweep(MonotonicTime now) {
  if (now < deadline_) return;
  if (phase_ == Phase::kStreaming) return pull();
  if (phase_ != Phase::kHead && phase_ != Phase::kBody) return close();
  const bool is_head = phase_ == Phase::kHead;
  refuse(408, fmt::format("the {} of the request did not arrive within {} s; send it faster, or in smaller parts",
                          is_head ? "head" : "body",
                          std::chrono::duration<double>(is_head ? host_->limits.head : host_->limits.body).count()));
}

void Connection::finish() {
  if (phase_ == Phase::kIdle && !reading_) return close();
  if (phase_ == Phase::kStreaming) return end_stream();
  if (phase_ == Phase::kWriting && stream_)
    close();  // its client does not read, and would not read the last chunk either
}

void Connection::close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  transport_->say_end();
  error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
  const auto self = shared_from_this();
  let_go();
  loop_->connections().erase(self);
  host_->on_closed();
}

// Responders may keep a closed connection alive for long, so it releases all memory and calls all pending callbacks.
void Connection::let_go() {
  transport_.reset();
  reading_.reset();
  (void)std::exchange(output_, {});  // unlike an assignment, it frees the memory
  end_of_stream();
  leave_seat();
  if (std::exchange(has_joined_, false)) host_->peers.leave(peer_address_);
  if (const auto sent = std::exchange(sent_, nullptr)) sent(false);
  if (const auto gone = std::exchange(gone_, nullptr)) gone();
}

// ---- Waiting ----

// Queues `step` behind the other work of this loop, which also keeps the stack short.
void Connection::soon(void (Connection::*step)()) {
  asio::post(loop_->context(), [self = shared_from_this(), step] { self->guard([&] { (self.get()->*step)(); }); });
}

// At most one wait at a time; when it ends, the phase decides what to do.
void Connection::watch_input() {
  if (std::exchange(watches_input_, true)) return;
  socket_.async_wait(asio::ip::tcp::socket::wait_read, [self = shared_from_this()](const error_code&) {
    self->watches_input_ = false;
    self->guard([&] { self->on_input(); });
  });
}

void Connection::watch_output() {
  if (std::exchange(watches_output_, true)) return;
  socket_.async_wait(asio::ip::tcp::socket::wait_write, [self = shared_from_this()](const error_code&) {
    self->watches_output_ = false;
    self->guard([&] { self->on_output(); });
  });
}

void Connection::on_input() {
  switch (phase_) {
    case Phase::kIdle:
    case Phase::kHead:
    case Phase::kBody:
      return read();
    case Phase::kHandling:
      return check_for_end();
    case Phase::kContinuing:
    case Phase::kWriting:
      return send();  // TLS may need input to write
    case Phase::kStreaming:
    case Phase::kLingering:
      return skip_input();
    case Phase::kClosed:
      return;
  }
}

void Connection::on_output() {
  if (phase_ == Phase::kWriting || phase_ == Phase::kContinuing) return send();
  if (phase_ == Phase::kIdle || phase_ == Phase::kHead || phase_ == Phase::kBody)
    read();  // TLS may need output to read
}

// ---- Reading ----

void Connection::next_request() {
  enter(Phase::kIdle, host_->limits.idle);
  if (reading_) return soon(&Connection::on_input);  // its first bytes arrived with those of the previous one
  if (host_->stopping) return close();
  read_more();
}

void Connection::read_more() {
  if (transport_->holds_input()) return soon(&Connection::on_input);
  watch_input();
}

void Connection::read() {
  if (phase_ == Phase::kIdle && reading_) {
    reading_->begin(host_->limits);
    return parse({});
  }
  const std::span<char> buffer = loop_->scratch();
  const Transport::Moved moved = transport_->read(buffer);
  switch (moved.state) {
    case Transport::State::kMoved:
      return parse({buffer.data(), moved.count});
    case Transport::State::kNeedsInput:
      return watch_input();
    case Transport::State::kNeedsOutput:
      return watch_output();
    case Transport::State::kPlainHttp:
      return refuse_plain_http();
    case Transport::State::kEnded:
      return close();  // no client is left to answer
  }
}

// Parses what has arrived: a part of a request, or more than one.
void Connection::parse(std::string_view fresh) {
  if (!reading_) reading_ = std::make_unique<Reading>(*host_, share_);
  if (phase_ == Phase::kIdle) enter(Phase::kHead, host_->limits.head);
  auto& parser = *reading_->parser;
  std::string_view input = reading_->with_rest(fresh);
  error_code error;
  while (!input.empty() && !parser.is_done() && !error && phase_ != Phase::kContinuing && !is_part_of_chunk(input)) {
    const std::size_t count = parser.put(asio::buffer(input), error);
    const std::string_view taken = input.substr(0, count);
    input.remove_prefix(count);
    reading_->taken += count;
    if (error && error != http::error::need_more) return refuse(error);
    if (phase_ == Phase::kHead && has_folded_line(taken))
      return refuse(400, "a header continues on a second line; send each header on one line");
    if (is_too_long(error ? input.size() : 0))
      return refuse(phase_ == Phase::kHead ? http::error::header_limit : http::error::body_limit);
    if (phase_ == Phase::kHead && parser.is_header_done() && !take_head(input.size())) return;
  }
  reading_->keep(input);
  if (!has_room(reading_->bytes())) return;
  if (phase_ == Phase::kContinuing) return say_continue();
  if (parser.is_done()) return handle(true);
  read_more();
}

// An assertion of Beast fails if the last chunk arrives in several parts of which the first ends after its first line, and
// has fewer bytes than this. No body ends with fewer, so waiting for them delays no request.
bool Connection::is_part_of_chunk(std::string_view input) const {
  return phase_ == Phase::kBody && reading_->parser->chunked() && input.size() < kLastChunkBytes;
}

// Beast's limits cover only bytes that it has not parsed yet, so many short headers, or trailers after a body, would
// pass them. `rest` counts bytes of the request that are not parsed yet.
bool Connection::is_too_long(std::size_t rest) const {
  const HttpLimits& limits = host_->limits;
  if (phase_ == Phase::kHead) return reading_->taken + rest > limits.head_bytes;
  return rest > limits.head_bytes || reading_->taken > kMostChunkedBytes * limits.body_bytes + limits.head_bytes;
}

// False if the request was refused. `arrived` bytes after the head are here already.
bool Connection::take_head(std::size_t arrived) {
  enter(Phase::kBody, host_->limits.body);
  auto& parser = *reading_->parser;
  reading_->head = std::exchange(reading_->taken, 0);
  parser.eager(true);
  if (parser.get().target().size() > host_->limits.target_bytes) {
    refuse(414, fmt::format("the path and query have {} bytes; at most {} are allowed", parser.get().target().size(),
                            host_->limits.target_bytes));
    return false;
  }
  if (std::string fault = fault_of_head(parser.get()); !fault.empty()) {
    refuse(400, std::move(fault));
    return false;
  }
  keep_alive_ = parser.keep_alive();  // trailers may not change it
  if (!admit(arrived)) return false;
  // The client waits for 100 Continue before it sends a large body. The body's announced length has been checked
  // already.
  const bool asks_first = equals_ignoring_case(copy(parser.get()[http::field::expect]), "100-continue");
  if (asks_first && !parser.is_done()) phase_ = Phase::kContinuing;
  return true;
}

// Decides, once the head has arrived, who calls and whether the body is read. False if the request was refused, or is
// handled without its body.
bool Connection::admit(std::size_t arrived) {
  auto& parser = *reading_->parser;
  reading_->request = head_of_request();
  if (host_->admit) {
    Admission admission = host_->admit(reading_->request);
    reading_->request.admitted = std::move(admission.admitted);
    if (!belongs_to(admission)) return false;
    reading_->held.move_to(share_);
    const auto missing = parser.content_length_remaining();
    if (!admission.reads_body && !parser.is_done() && (!missing || *missing > arrived)) {
      handle(false);
      return false;
    }
  }
  reading_->announced = parser.content_length().value_or(0);
  return has_room(reading_->bytes());
}

// False if the request was refused.
bool Connection::has_room(std::size_t bytes) {
  HeldBytes& held = reading_->held;
  if (held.try_resize(bytes)) return true;
  refuse(503, held.is_of_full_share()
                  ? fmt::format("requests and answers of this caller hold its limit of {} bytes; read the answers, or "
                                "retry later",
                                share_->bytes.limit())
                  : fmt::format("this node holds its limit of {} bytes in requests and answers under way; retry later",
                                host_->limits.bytes_in_flight));
  return false;
}

void Connection::refuse(const error_code& error) {
  const HttpLimits& limits = host_->limits;
  if (error == http::error::body_limit) {
    return refuse(413, fmt::format("the body may have at most {} bytes; send less, or split it over several requests",
                                   limits.body_bytes));
  }
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    if (reading_->parser->get().target().empty()) {
      return refuse(414, fmt::format("the request line exceeds the limit of {} bytes", limits.head_bytes));
    }
    return refuse(431, fmt::format("the request line and headers exceed the limit of {} bytes", limits.head_bytes));
  }
  refuse(400, fmt::format("this is not an HTTP/1.1 request: {}", error.message()));
}

// The client did not start TLS, so it can only read a plain answer.
void Connection::refuse_plain_http() {
  transport_ = make_plain_transport(socket_.native_handle());
  is_tls_ = false;
  refuse(400, "this port expects TLS: use https:// instead of http://");
}

// ---- Handling ----

// Without its body, the rest of which is not read, the request is the last one of the connection.
void Connection::handle(bool has_body) {
  auto& parser = *reading_->parser;
  HttpRequest request = std::move(reading_->request);
  request_ = request.id;
  keep_alive_ = keep_alive_ && has_body;
  is_http10_ = parser.get().version() < 11;
  wants_body_ = request.method != "HEAD";
  if (has_body) request.body = std::move(parser.get().body());
  HeldBytes bytes = reading_->held.take_all_but(has_body ? reading_->unparsed() : 0);
  if (!has_body || reading_->rest.empty()) reading_.reset();
  enter(Phase::kHandling, kNoLimit);
  const std::uint64_t id = request_;
  const Responder responder(make_pending_answer(shared_from_this(), id, std::move(bytes)));
  try {
    host_->handler(std::move(request), responder);
  } catch (const BoostAssertion&) {
    throw;  // of what the connection did after the answer
  } catch (const std::bad_alloc&) {
    log_busy(id, "out of memory");
    responder.answer(out_of_memory_response(id));
  } catch (const std::exception& thrown) {
    host_->log.error("a handler threw", {{"request", id}, {"reason", thrown.what()}});
  }
}

HttpRequest Connection::head_of_request() {
  HttpRequest request{.id = host_->next_request++, .peer = peer_, .is_local = is_local_, .is_tls = is_tls_};
  copy_head(reading_->parser->get(), request);
  return request;
}

void Connection::post_watch(std::uint64_t id, std::function<void()> gone) {
  (void)loop_->post(
      [self = shared_from_this(), id, gone = std::move(gone)]() mutable { self->watch(id, std::move(gone)); });
}

void Connection::watch(std::uint64_t id, std::function<void()> gone) {
  if (phase_ == Phase::kClosed && id == request_) return gone();
  if (phase_ != Phase::kHandling || id != request_ || gone_) return;
  gone_ = std::move(gone);
  watch_input();
}

// While a request is handled, the socket becomes readable when the next request arrives or the client disconnects.
void Connection::check_for_end() {
  if (!gone_) return;
  const Transport::State state = transport_->peek().state;
  if (state == Transport::State::kMoved) return;
  if (state == Transport::State::kNeedsInput || state == Transport::State::kNeedsOutput) return watch_input();
  close();
}

void Connection::forget_input() { reading_.reset(); }

// While it streams, and after the last answer, the server discards what the client sends and waits for its end.
void Connection::skip_input() {
  const Transport::State state = transport_->read(loop_->scratch()).state;
  if (state == Transport::State::kMoved) return read_more();
  if (state == Transport::State::kNeedsInput || state == Transport::State::kNeedsOutput) return watch_input();
  close();
}

}  // namespace horae
