// An HTTP/1.1 server. Boost.Beast and Asio stay behind this header; see docs/internals/adr/0008-beast-callbacks.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/meter.h"
#include "base/result.h"
#include "http/limits/admission.h"
#include "http/message.h"
#include "http/responder.h"

namespace horae {

struct HttpLimits {
  std::size_t head_bytes = 16 << 10;   // request line and headers together; beyond: 414 or 431
  std::size_t target_bytes = 8 << 10;  // path and query; beyond: 414
  std::size_t body_bytes = 4 << 20;    // beyond: 413
  std::size_t connections = 10'000;    // beyond: 503; beyond kRefusedAtOnce more, new ones wait in the kernel's backlog
  std::size_t streams = 256;           // open at the same time; beyond: 503

  // Of all requests and answers together, from the first byte of a request until the kernel has taken the last byte of
  // its answer; the request or answer that finds no room becomes a 503. Bodies that many answers share do not count. At
  // least the size of the largest request.
  std::size_t bytes_in_flight = 256 << 20;

  // Strangers may have at most 3/4 of the connections, then the oldest of theirs is closed, and 1/8 of the bytes.
  PeerLimitOptions peers = {};

  // Each limits the whole step, however many bytes trickle in meanwhile. A step that takes longer is ended within
  // `sweep`.
  Duration head = std::chrono::seconds(10);   // from the first byte of a request (or the connect) on; beyond: 408. Also
                                              // limits a TLS handshake and the first byte after it
  Duration body = std::chrono::seconds(30);   // from the end of the head on; beyond: 408
  Duration idle = std::chrono::seconds(75);   // between two requests; then the connection is closed
  Duration write = std::chrono::seconds(30);  // for the client to take an answer, or a piece of a stream; then the
                                              // connection is closed
  Duration linger = std::chrono::seconds(2);  // for the client to read a refusal before the connection is closed
  Duration sweep = std::chrono::seconds(1);   // between two checks of the deadlines
  Duration stream_pulse =
      std::chrono::seconds(15);  // after so much silence a stream's next() is called, for a keep-alive
};

inline constexpr std::size_t kRefusedAtOnce = 64;

// Files in PEM format. Both are empty without TLS.
struct TlsOptions {
  std::string certificate;  // followed by the intermediate certificates
  std::string key;          // of the certificate, without a password
};

struct HttpServerOptions {
  // "ADDRESS:PORT", "[::1]:PORT"; port 0 picks a free one. The prefix https:// means encrypted, http:// plain; without
  // a prefix, loopback addresses are plain and all others encrypted.
  std::vector<std::string> listen = {"127.0.0.1:3369"};
  TlsOptions tls = {};
  bool plaintext_behind_proxy = false;  // allows plain on addresses that are not loopback
  bool trusts_local = true;             // callers at a loopback address are known before their first request
  int threads = 2;
  HttpLimits limits;
};

// Reads requests, passes them to the handler and writes its answers, in the order of the requests of each connection.
// Connections are kept alive, and requests may be pipelined; they are handled one after another.
//
// The server itself answers a request that is not HTTP or exceeds a limit, with a problem document (400, 408, 413, 414,
// 429, 431, 503), and closes the connection. An answer for which there is no room is replaced by 503.
//
// A request whose handler throws std::bad_alloc gets 503.
//
// start() and stop() from one thread; everything else is thread-safe. The handler runs on the server's threads, on
// several at the same time, and must return soon, because all connections of its thread wait for it: it moves longer
// work to another thread, together with the Responder.
class HttpServer {
 public:
  using Handler = std::function<void(HttpRequest, Responder)>;

  // Deadlines are measured by the clock, which outlives the server, as the meter does.
  HttpServer(HttpServerOptions options, const Clock& clock, Logger log, Handler handler, Meter& meter = no_meter());
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Asks `admit` about each request before its body is read. Without it every caller is known. Before start().
  void set_admit(Admit admit);

  // Binds all addresses and begins to accept. kMalformed for an address that cannot be parsed, kRefused for one that
  // would be exposed without TLS and for bad TLS files, kConflict if an address is in use, else kUnavailable; after an
  // error nothing was started. Call it once.
  Result<void> start();

  // Reloads the TLS files, for new connections. If one is bad, the old ones stay in use, and the error says which one
  // and why. Does nothing without TLS.
  Result<void> reload_certificates();

  // Stops accepting, closes idle connections and streams, and waits until every request whose first byte has arrived is
  // answered, for at most `grace`; then closes the rest. Idempotent. Answer long polls before. A Responder that answers
  // afterwards does no harm.
  void stop(Duration grace);

  // The bound addresses, in the order of the options, with the actual ports: "127.0.0.1:40123".
  std::vector<std::string> addresses() const;
  std::vector<std::string> urls() const;  // the same as "http://127.0.0.1:40123" or "https://..."
  std::uint16_t port() const;             // of the first address

  std::size_t connections() const;
  std::size_t strangers() const;        // connections of them
  std::size_t bytes_in_flight() const;  // of requests and answers

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace horae
