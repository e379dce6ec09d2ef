// One client's connection: requests in, answers out, and a deadline for each step. Private to the server.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log_rate_limiter.h"
#include "base/meter.h"
#include "http/io_loop.h"
#include "http/limits/held_bytes.h"
#include "http/limits/peer_limits.h"
#include "http/responder.h"
#include "http/server.h"
#include "http/transport.h"

namespace horae {

// What strangers may have together.
CallerLimits limits_of_strangers(const HttpLimits& limits);

// What all connections of a server share.
struct ConnectionHost {
  HttpLimits limits;
  const Clock& clock;
  Logger log;
  HttpServer::Handler handler;
  Admit admit = {};
  bool trusts_local = true;
  std::function<void()> on_closed = {};  // called when a connection has closed, on its loop's thread
  Counter& failed_assertions = no_meter().counter({"", ""});  // of Boost; each has closed its connection
  std::atomic<std::uint64_t> next_request = 1;
  Quota streams{limits.streams};        // open now
  LogRateLimiter busy{1};               // of requests that exceed a limit
  LogRateLimiter broken{1};             // of failed assertions of Boost
  Quota bytes{limits.bytes_in_flight};  // of requests and answers
  std::shared_ptr<CallerShare> strangers = std::make_shared<CallerShare>(limits_of_strangers(limits));
  PeerLimits peers{limits.peers};
  std::atomic<bool> stopping = false;
};

// Where a client connected.
struct ConnectionDoor {
  bool is_local = true;
  std::shared_ptr<const TlsContext> tls = {};  // null: plain
};

// It waits for its socket to become readable or writable before it reads or writes. So a waiting connection holds no
// buffer, and thousands of idle ones cost little.
//
// Used by its loop's thread only, except for the members that begin with post_, which are thread-safe.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, const ConnectionDoor& door, std::shared_ptr<IoLoop> loop,
             std::shared_ptr<ConnectionHost> host);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Begins to read; beyond the limit of connections, answers 503 and closes.
  void start(bool is_one_too_many);

  // Ends the step under way if its deadline has passed.
  void sweep(MonotonicTime now);

  // The server stops: closes now if idle or streaming, else after the request under way.
  void finish();

  void close();

  // For the AnswerSlot of request `id`. False if the answer can no longer be delivered: then `sent` was not called.
  bool post_answer(std::uint64_t id, HttpResponse response, HeldBytes held, AnswerSlot::Sent& sent);
  void post_dropped(std::uint64_t id);  // the last handle is gone without an answer
  void post_watch(std::uint64_t id, std::function<void()> gone);
  void post_stream(std::uint64_t id, HttpResponse head, std::shared_ptr<BodyStream> body);
  void post_resume();

  // Thread-safe as well.
  void log_busy(std::uint64_t id, std::string_view reason) const;

 private:
  enum class Phase { kIdle, kHead, kContinuing, kBody, kHandling, kWriting, kStreaming, kLingering, kClosed };

  // The request that is arriving; exists from its first byte to its last.
  struct Reading;

  // The bytes being written.
  struct Output {
    std::string head;
    std::string body;
    std::shared_ptr<const std::string> shared_body = {};  // instead of `body`
    std::optional<HeldBytes> held = {};
    std::size_t done = 0;  // bytes of head and body that the kernel has taken

    std::string_view rest() const;
  };

  void enter(Phase phase, Duration limit);
  void let_go();
  void soon(void (Connection::*step)());
  // The boundary for assertions of Boost and for a lack of memory: all steps come through here.
  template <typename Step>
  void guard(const Step& step) {
    try {
      step();
    } catch (const std::exception&) {
      on_thrown();
    }
  }
  void on_thrown();
  void on_no_memory();
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
  bool take_head(std::size_t arrived);
  bool has_room(std::size_t bytes);
  void handle(bool has_body);
  HttpRequest head_of_request();
  void watch(std::uint64_t id, std::function<void()> gone);
  void check_for_end();
  void skip_input();
  void forget_input();
  void refuse(const boost::system::error_code& error);
  void refuse_plain_http();

  bool admit(std::size_t arrived);
  bool belongs_to(const Admission& admission);
  void sit_with(const std::shared_ptr<CallerShare>& share);
  void leave_seat();
  bool close_oldest_stranger();
  bool finds_place(bool is_one_too_many);

  void refuse(int status, std::string detail);
  void answer_dropped(std::uint64_t id);
  void answer(std::uint64_t id, HttpResponse response, std::optional<HeldBytes> held, AnswerSlot::Sent sent);
  void write(HttpResponse response, bool has_body, std::optional<HeldBytes> held, AnswerSlot::Sent sent);
  void put_out(Output output);
  void send();
  void on_sent(bool is_sent);
  void say_continue();
  void linger();
  void begin_stream(std::uint64_t id, const HttpResponse& head, std::shared_ptr<BodyStream> body);
  bool has_room_for_stream();
  void end_of_stream();
  void resume();
  void pull();
  void end_stream();

  const std::shared_ptr<IoLoop> loop_;  // declared before the socket, which needs it until destroyed
  boost::asio::ip::tcp::socket socket_;
  const std::shared_ptr<ConnectionHost> host_;
  std::unique_ptr<Transport> transport_;  // null once closed
  const std::string peer_;
  const PeerLimits::Address peer_address_;
  const bool is_local_;
  bool is_tls_;            // false again for a client that speaks plain HTTP to a port for TLS
  const bool is_trusted_;  // known before its first request, and not a stranger after any

  Phase phase_ = Phase::kIdle;
  MonotonicTime deadline_;
  bool watches_input_ = false;
  bool watches_output_ = false;
  std::unique_ptr<Reading> reading_;
  std::shared_ptr<CallerShare> share_;      // of the caller of the last request; null without limits of its own
  std::shared_ptr<CallerShare> seat_;       // the share in whose connections this one counts; null if in none
  std::list<Connection*>::iterator place_;  // among the strangers of the loop, if the seat is one of theirs
  bool has_joined_ = false;                 // counts for its peer
  std::uint64_t request_ = 0;               // the id of the one being handled
  bool keep_alive_ = false;                 // after the answer to it
  bool wants_body_ = true;                  // false after HEAD
  bool is_http10_ = false;                  // without chunked encoding
  std::function<void()> gone_;              // called if the client disconnects before it is answered
  AnswerSlot::Sent sent_;                   // called when the output is written
  Output output_;
  std::shared_ptr<BodyStream> stream_;         // set while the answer is a stream
  std::shared_ptr<CallerShare> stream_share_;  // in whose streams it counts
  std::atomic<bool> is_resumed_ = false;
};

}  // namespace horae
