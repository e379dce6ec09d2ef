// One client: requests in, answers out, and a deadline for each step. Private to the server.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "http/io_loop.h"
#include "http/responder.h"
#include "http/server.h"

namespace horae {

// What all connections of a server share.
struct ConnectionHost {
  HttpLimits limits;
  const Clock& clock;
  Logger log;
  HttpServer::Handler handler;
  std::function<void()> on_closed = {};  // called by each connection at its end, on its loop's thread
  std::atomic<std::uint64_t> next_request = 1;
  std::atomic<bool> stopping = false;
};

// Threads: of its loop only, but for post_answer() and post_watch().
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<IoLoop> loop, std::shared_ptr<ConnectionHost> host);

  // Begins to read; or, with too many connections there, says so and ends.
  void start(bool is_one_too_many);

  // Ends what has taken too long.
  void sweep(MonotonicTime now);

  // The server stops: ends now if it is idle, else after the request that is under way.
  void finish();

  void close();

  // For the Exchange of request `id`. False if the answer cannot be delivered any more: then `sent` was not called.
  bool post_answer(std::uint64_t id, HttpResponse response, Exchange::Sent& sent);
  void post_watch(std::uint64_t id, std::function<void()> gone);

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  enum class Phase { kIdle, kHead, kBody, kHandling, kWriting, kLingering, kClosed };

  void enter(Phase phase, Duration limit);
  void next_request();
  void read_more();
  void on_read(const boost::system::error_code& error, std::size_t count);
  void parse();
  bool is_too_long(bool rest_belongs_to_it) const;
  bool take_head();
  void say_continue();
  void handle();
  HttpRequest take_request();
  void answer(std::uint64_t id, HttpResponse response, Exchange::Sent sent);
  void watch(std::uint64_t id, std::function<void()> gone);
  void on_readable(std::uint64_t id, const std::function<void()>& gone);
  void refuse(int status, std::string detail);
  void refuse(const boost::system::error_code& error);
  void write(HttpResponse response, std::uint64_t id, bool has_body, Exchange::Sent sent);
  void on_written(const boost::system::error_code& error, const Exchange::Sent& sent);
  void linger();
  void drain();

  const std::shared_ptr<IoLoop> loop_;  // before the socket, which needs it to the end
  boost::asio::ip::tcp::socket socket_;
  const std::shared_ptr<ConnectionHost> host_;
  std::string peer_;

  Phase phase_ = Phase::kIdle;
  MonotonicTime deadline_;
  std::optional<Parser> parser_;
  boost::beast::flat_buffer buffer_;
  std::size_t taken_ = 0;      // bytes of the head, or of the body
  std::uint64_t request_ = 0;  // the id of the one that is handled
  bool keep_alive_ = false;    // after the answer to it
  bool wants_body_ = true;     // false after HEAD
  std::string head_out_;       // what is being written
  std::string body_out_;
};

}  // namespace horae
