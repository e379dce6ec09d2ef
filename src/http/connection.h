// One client: requests in, answers out, and a deadline for each step. Private to the server.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log_rate_limiter.h"
#include "http/held_bytes.h"
#include "http/io_loop.h"
#include "http/responder.h"
#include "http/server.h"
#include "http/transport.h"

namespace horae {

// What all connections of a server share.
struct ConnectionHost {
  HttpLimits limits;
  const Clock& clock;
  Logger log;
  HttpServer::Handler handler;
  std::function<void()> on_closed = {};  // called by each connection at its end, on its loop's thread
  std::atomic<std::uint64_t> next_request = 1;
  std::atomic<std::size_t> streams = 0;     // that are under way
  LogRateLimiter busy{1};                   // of requests that were refused for a limit
  ByteGauge bytes{limits.bytes_in_flight};  // of requests that arrive, or are not answered yet
  std::atomic<bool> stopping = false;
};

// By which door a client came in.
struct ConnectionDoor {
  bool is_local = true;
  std::shared_ptr<const TlsContext> tls = {};  // nothing: plain
};

// It waits for its socket to become readable or writable, and reads and writes at once then: so while it waits it has
// no buffer, and thousands of idle connections cost little.
//
// Threads: of its loop only, but for the members that begin with post_.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, const ConnectionDoor& door, std::shared_ptr<IoLoop> loop,
             std::shared_ptr<ConnectionHost> host);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Begins to read; or, with too many connections there, says so and ends.
  void start(bool is_one_too_many);

  // Ends what has taken too long.
  void sweep(MonotonicTime now);

  // The server stops: ends now if it is idle or streams, else after the request that is under way.
  void finish();

  void close();

  // For the AnswerSlot of request `id`. False if the answer cannot be delivered any more: then `sent` was not called.
  bool post_answer(std::uint64_t id, HttpResponse response, AnswerSlot::Sent& sent);
  void post_dropped(std::uint64_t id);  // nobody is left who could answer
  void post_watch(std::uint64_t id, std::function<void()> gone);
  void post_stream(std::uint64_t id, HttpResponse head, std::shared_ptr<BodyStream> body);
  void post_resume();

 private:
  enum class Phase { kIdle, kHead, kContinuing, kBody, kHandling, kWriting, kStreaming, kLingering, kClosed };

  // The request that arrives. It is there from its first byte to its last.
  struct Reading;

  // What is being written.
  struct Output {
    std::string head;
    std::string body;
    std::size_t done = 0;  // bytes of both that the network has

    std::string_view rest() const;
  };

  void enter(Phase phase, Duration limit);
  void let_go();
  void soon(void (Connection::*step)());
  void watch_input();
  void watch_output();
  void on_input();
  void on_output();

  void next_request();
  void read_more();
  void read();
  void parse(std::string_view fresh);
  bool is_part_of_chunk(std::string_view input) const;
  bool is_too_long(std::size_t rest) const;
  bool take_head();
  void handle();
  HttpRequest take_request();
  void watch(std::uint64_t id, std::function<void()> gone);
  void look_for_end();
  void skip_input();
  void forget_input();
  void refuse(const boost::system::error_code& error);
  void refuse_plain_http();

  void refuse(int status, std::string detail);
  void answer_dropped(std::uint64_t id);
  void log_busy(std::string_view reason) const;
  void answer(std::uint64_t id, HttpResponse response, AnswerSlot::Sent sent);
  void write(HttpResponse response, bool has_body, AnswerSlot::Sent sent);
  void put_out(std::string head, std::string body);
  void send();
  void on_sent(bool is_sent);
  void say_continue();
  void linger();
  void begin_stream(std::uint64_t id, const HttpResponse& head, std::shared_ptr<BodyStream> body);
  bool has_room_for_stream();
  void resume();
  void pull();
  void end_stream();

  const std::shared_ptr<IoLoop> loop_;  // before the socket, which needs it to the end
  boost::asio::ip::tcp::socket socket_;
  const std::shared_ptr<ConnectionHost> host_;
  std::unique_ptr<Transport> transport_;  // until it is closed
  const std::string peer_;
  const bool is_local_;
  const bool is_tls_;

  Phase phase_ = Phase::kIdle;
  MonotonicTime deadline_;
  bool watches_input_ = false;
  bool watches_output_ = false;
  std::unique_ptr<Reading> reading_;
  std::uint64_t request_ = 0;   // the id of the one that is handled
  bool keep_alive_ = false;     // after the answer to it
  bool wants_body_ = true;      // false after HEAD
  bool is_http10_ = false;      // it knows no chunks
  std::function<void()> gone_;  // to be told if the client goes before it is answered
  AnswerSlot::Sent sent_;       // to be told when the output is written
  Output output_;
  std::shared_ptr<BodyStream> stream_;  // that is the answer
  std::atomic<bool> is_resumed_ = false;
};

}  // namespace horae
