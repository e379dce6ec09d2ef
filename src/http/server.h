// An HTTP/1.1 server. What it stands on (Boost.Beast, Asio) stays inside; see docs/internals/adr/0008-beast-callbacks.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "http/message.h"
#include "http/responder.h"

namespace horae {

struct HttpLimits {
  std::size_t head_bytes = 16 << 10;   // request line and headers together; beyond: 414 or 431
  std::size_t target_bytes = 8 << 10;  // path and query; beyond: 414
  std::size_t body_bytes = 1 << 20;    // beyond: 413
  std::size_t connections = 10'000;    // beyond: 503, and after kRefusedAtOnce more of them the rest waits in line
  std::size_t streams = 256;           // answers without an end, at once; beyond: 503

  // Of all requests together, from their first byte until they are answered; the request that goes beyond it gets 503.
  // At least as much as one request may have.
  std::size_t bytes_in_flight = 256 << 20;

  // Each is for the whole of it, however many bytes trickle in between. What takes longer is ended within `sweep`.
  Duration head = std::chrono::seconds(10);   // from the first byte of a request (or the connect) on; beyond: 408. It
                                              // is also the time for a handshake and the first byte after it
  Duration body = std::chrono::seconds(30);   // from the end of the head on; beyond: 408
  Duration idle = std::chrono::seconds(75);   // between two requests; then the connection is closed
  Duration write = std::chrono::seconds(30);  // for the client to take an answer, or a piece of a stream; then the
                                              // connection is closed
  Duration linger = std::chrono::seconds(2);  // for the client to read why it was refused before the end
  Duration sweep = std::chrono::seconds(1);   // how often the deadlines are looked at
  Duration stream_pulse = std::chrono::seconds(15);  // a stream that is silent for so long is asked for a sign of life
};

inline constexpr std::size_t kRefusedAtOnce = 64;

// Files in PEM. Both are empty where there is no TLS.
struct TlsOptions {
  std::string certificate;  // and after it those of the authorities between it and a root
  std::string key;          // of the certificate, without a password
};

struct HttpServerOptions {
  // "ADDRESS:PORT", "[::1]:PORT"; port 0 is any free one. With https:// before it encrypted, with http:// plain; with
  // neither it is plain if the address is loopback, and encrypted otherwise.
  std::vector<std::string> listen = {"127.0.0.1:3369"};
  TlsOptions tls = {};
  bool plaintext_behind_proxy = false;  // allows plain on addresses that are not loopback
  int threads = 2;
  HttpLimits limits;
};

// Reads requests, hands them to the handler and writes its answers, in the order of the requests of each connection.
// Connections are kept open, and requests may follow each other without waiting; they are taken one by one.
//
// A request that is not HTTP, or beyond a limit, is answered by the server itself with a problem document (400, 408,
// 413, 414, 431, 503), and its connection is closed.
//
// Threads: start() and stop() by one thread; the handler is called on the server's threads, several at once, and must
// return soon, because all connections of its thread wait for it. What takes longer goes elsewhere with the Responder.
class HttpServer {
 public:
  using Handler = std::function<void(HttpRequest, Responder)>;

  // The clock, which outlives the server, decides about the deadlines.
  HttpServer(HttpServerOptions options, const Clock& clock, Logger log, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Binds all addresses and takes requests from now on. kMalformed for an address that cannot be read, kRefused for one
  // that would be open without TLS and for bad files of TLS, kConflict if an address is in use, else kUnavailable; then
  // nothing was started. Once only.
  Result<void> start();

  // Reads the files of TLS anew, for connections from now on. If one is bad, the old ones stay in use, and the error
  // says which and why. Without TLS it does nothing. From any thread.
  Result<void> reload_certificates();

  // Takes no new connections, closes those that are idle, and waits until all requests whose first byte was seen are
  // answered, but no longer than `grace`; then it ends the rest. May be called more than once. End first what waits on
  // purpose (long polls). Streams are ended at once. A Responder that answers after it does no harm.
  void stop(Duration grace);

  // Where it listens, in the order of the options, with the ports that were chosen: "127.0.0.1:40123".
  std::vector<std::string> addresses() const;
  std::vector<std::string> urls() const;  // the same as "http://127.0.0.1:40123" or "https://..."
  std::uint16_t port() const;             // of the first address

  std::size_t connections() const;
  std::size_t bytes_in_flight() const;  // of requests that arrive, or are not answered yet

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace horae
