// The writing of a connection: answers, refusals and streams.
#include <fmt/format.h>

#include <array>
#include <exception>
#include <new>
#include <utility>

#include "http/connection.h"
#include "http/problem.h"
#include "http/response_head.h"

namespace horae {

using boost::system::error_code;

namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kLastChunk = "0\r\n\r\n";
constexpr std::size_t kJoinedBytes = 16 << 10;  // a body up to this size is sent together with its head
constexpr int kStreamSendBuffer = 128 << 10;    // bytes that the kernel may hold for a slow reader

}  // namespace

std::string_view Connection::Output::rest() const {
  if (done < head.size()) return std::string_view(head).substr(done);
  return std::string_view(shared_body ? *shared_body : body).substr(done - head.size());
}

bool Connection::post_answer(std::uint64_t id, HttpResponse response, HeldBytes held, AnswerSlot::Sent& sent) {
  if (loop_->is_here()) {
    answer(id, std::move(response), std::move(held), std::move(sent));
    return true;
  }
  // If the loop refuses the post, `sent` stays with the caller, so the lambda copies it instead of moving it.
  return loop_->post(
      [self = shared_from_this(), id, response = std::move(response), held = std::move(held), sent]() mutable {
        self->guard([&] { self->answer(id, std::move(response), std::move(held), std::move(sent)); });
      });
}

void Connection::answer(std::uint64_t id, HttpResponse response, std::optional<HeldBytes> held, AnswerSlot::Sent sent) {
  if (phase_ != Phase::kHandling || id != request_) {
    if (sent) sent(false);
    return;
  }
  write(std::move(response), wants_body_, std::move(held), std::move(sent));
}

void Connection::refuse(int status, std::string detail) {
  static constexpr std::array<std::pair<int, std::string_view>, 7> kNames = {{{400, "not_http"},
                                                                              {408, "too_slow"},
                                                                              {413, "body_too_large"},
                                                                              {414, "target_too_long"},
                                                                              {429, "over_limit"},
                                                                              {431, "head_too_large"},
                                                                              {503, "busy"}}};
  if (phase_ != Phase::kHandling) request_ = host_->next_request++;
  if (status == 503 || status == 429) log_busy(request_, detail);
  forget_input();  // a client that is slow to read the refusal holds no memory with its request
  for (const auto& [known, name] : kNames) {
    if (known != status) continue;
    keep_alive_ = false;
    return write(problem_response({.kind = problem_kind(name), .detail = std::move(detail), .request = request_}), true,
                 {}, {});
  }
}

void Connection::log_busy(std::uint64_t id, std::string_view reason) const {
  const auto suppressed = host_->busy.next(host_->clock.now());
  if (!suppressed) return;
  host_->log.warn("a request was refused",
                  {{"status", 503}, {"reason", reason}, {"peer", peer_}, {"request", id}, {"suppressed", *suppressed}});
}

void Connection::post_dropped(std::uint64_t id) {
  if (loop_->is_here()) return answer_dropped(id);
  (void)loop_->post([self = shared_from_this(), id] { self->answer_dropped(id); });
}

// Only with a client that is still connected is it a bug: a worker that disconnected during a long poll needs no
// answer.
void Connection::answer_dropped(std::uint64_t id) {
  if (phase_ != Phase::kHandling || id != request_) return;
  host_->log.error("a request was dropped without an answer", {{"status", 500}, {"peer", peer_}, {"request", id}});
  answer(id,
         problem_response({.kind = problem_kind("internal"),
                           .detail = "the request was dropped without an answer: this is a bug; see the log",
                           .request = id}),
         {}, {});
}

void Connection::write(HttpResponse response, bool has_body, std::optional<HeldBytes> held, AnswerSlot::Sent sent) {
  gone_ = nullptr;
  keep_alive_ = keep_alive_ && !host_->stopping;
  sent_ = std::move(sent);
  const HeadOptions options{.keep_alive = keep_alive_, .is_tls = is_tls_};
  Output output{
      .head = response_head(response, request_, options, host_->clock.wall_now()), .body = {}, .held = std::move(held)};
  if (has_body) {
    output.body = std::move(response.body);
    output.shared_body = std::move(response.shared_body);
  }
  put_out(std::move(output));
}

void Connection::put_out(Output output) {
  if (!output.held) output.held.emplace(host_->bytes, share_).add(output.head.size() + output.body.size());
  const std::string& body = output.shared_body ? *output.shared_body : output.body;
  if (body.size() <= kJoinedBytes) {
    output.head += body;
    output.body.clear();
    output.shared_body = nullptr;
  }
  output_ = std::move(output);
  enter(Phase::kWriting, host_->limits.write);
  send();
}

void Connection::send() {
  while (true) {
    const std::string_view rest = output_.rest();
    if (rest.empty()) return on_sent(true);
    const Transport::Moved moved = transport_->write(rest);
    if (moved.state == Transport::State::kNeedsOutput) return watch_output();
    if (moved.state == Transport::State::kNeedsInput) return watch_input();
    if (moved.state != Transport::State::kMoved) return on_sent(false);
    output_.done += moved.count;
  }
}

void Connection::on_sent(bool is_sent) {
  if (const auto sent = std::exchange(sent_, nullptr)) sent(is_sent);
  if (!is_sent) return close();
  (void)std::exchange(output_, {});  // unlike an assignment, it frees the memory
  if (phase_ == Phase::kContinuing) {
    phase_ = Phase::kBody;
    return parse({});
  }
  if (stream_) {
    enter(Phase::kStreaming, host_->limits.stream_pulse);
    return soon(&Connection::pull);
  }
  if (!keep_alive_) return linger();
  next_request();
}

// The deadline of the body is running already.
void Connection::say_continue() {
  output_ = {.head = std::string(kContinue), .body = {}, .held = {}};
  send();
}

// Closing at once while the client still sends would reset the connection, and the client might lose the answer. So the
// server closes its half and discards input until the client disconnects or the time is up.
void Connection::linger() {
  enter(Phase::kLingering, host_->limits.linger);
  forget_input();
  transport_->say_end();
  error_code ignored;
  socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  skip_input();
}

// ---- Streams ----

void Connection::post_stream(std::uint64_t id, HttpResponse head, std::shared_ptr<BodyStream> body) {
  if (loop_->is_here()) return begin_stream(id, head, std::move(body));
  (void)loop_->post([self = shared_from_this(), id, head = std::move(head), body = std::move(body)]() mutable {
    self->guard([&] { self->begin_stream(id, head, std::move(body)); });
  });
}

void Connection::begin_stream(std::uint64_t id, const HttpResponse& head, std::shared_ptr<BodyStream> body) {
  if (phase_ != Phase::kHandling || id != request_) return;
  gone_ = nullptr;
  if (wants_body_ && !has_room_for_stream()) {
    const std::size_t limit = share_ ? std::min(share_->streams.limit(), host_->limits.streams) : host_->limits.streams;
    const std::string detail =
        fmt::format("the limit of {} open streams{} is reached, or the server is stopping; close one, or retry later",
                    limit, share_ ? " of one token" : "");
    log_busy(id, detail);
    return write(problem_response({.kind = problem_kind("busy"), .detail = detail, .request = id}), true, {}, {});
  }
  keep_alive_ = keep_alive_ && !wants_body_ && !host_->stopping;
  const BodyEnd end = is_http10_ ? BodyEnd::kConnection : BodyEnd::kLastChunk;
  if (wants_body_) {
    stream_ = std::move(body);
    forget_input();
    error_code ignored;
    socket_.set_option(boost::asio::socket_base::send_buffer_size(kStreamSendBuffer), ignored);
  }
  const HeadOptions options{.keep_alive = keep_alive_, .is_tls = is_tls_, .end = end};
  put_out({.head = response_head(head, id, options, host_->clock.wall_now()), .body = {}});
}

// Takes a place if one is free, of the server and of the caller.
bool Connection::has_room_for_stream() {
  if (host_->stopping || (share_ && !share_->streams.try_add(1))) return false;
  stream_share_ = share_;
  if (host_->streams.try_add(1)) return true;
  if (stream_share_) stream_share_->streams.remove(1);
  return false;
}

// Returns the place.
void Connection::end_of_stream() {
  if (!stream_) return;
  host_->streams.remove(1);
  if (stream_share_) stream_share_->streams.remove(1);
  stream_share_.reset();
  stream_.reset();
}

void Connection::post_resume() {
  if (is_resumed_.exchange(true)) return;
  (void)loop_->post([self = shared_from_this()] { self->guard([&] { self->resume(); }); });
}

// Pieces that are added from now on need another call; those added before are seen by this one.
void Connection::resume() {
  is_resumed_ = false;
  pull();
}

// Pulls nothing while a piece is being written: the source keeps what a slow client has not read.
void Connection::pull() {
  if (phase_ != Phase::kStreaming) return;
  std::string piece;
  try {
    piece = stream_->next();
  } catch (const std::exception& thrown) {
    host_->log.error("a stream threw", {{"request", request_}, {"reason", thrown.what()}});
    return close();
  }
  if (piece.empty() && stream_->is_over()) return end_stream();
  if (piece.empty()) {
    enter(Phase::kStreaming, host_->limits.stream_pulse);
    return watch_input();
  }
  if (is_http10_) return put_out({.head = {}, .body = std::move(piece)});
  std::string length = fmt::format("{:x}\r\n", piece.size());
  put_out({.head = std::move(length), .body = std::move(piece) + "\r\n"});
}

// All pieces before it have been written, so the socket has room for these few bytes.
void Connection::end_stream() {
  if (!is_http10_) (void)transport_->write(kLastChunk);
  close();
}

}  // namespace horae
