// Reads and writes the bytes of one connection, plain or over TLS. Never blocks. Private to the server.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "http/tls_context.h"

namespace horae {

// Not thread-safe.
class Transport {
 public:
  enum class State {
    kMoved,        // `count` bytes, at least one
    kNeedsInput,   // the socket must become readable first; with TLS also for writes
    kNeedsOutput,  // the socket must become writable first; with TLS also for reads
    kEnded,        // the client has disconnected or closed its half
    kPlainHttp,    // the client sent plain HTTP to a TLS port
  };
  struct Moved {
    State state;
    std::size_t count = 0;
  };

  virtual ~Transport() = default;
  virtual Moved read(std::span<char> into) = 0;
  virtual Moved write(std::string_view bytes) = 0;  // may be partial

  // What read() would return, without consuming anything.
  virtual Moved peek() = 0;

  // True if bytes are buffered here, so that waiting for the socket might never end.
  virtual bool holds_input() const = 0;

  // Announces the end of the data, if the protocol can (TLS close_notify).
  virtual void say_end() = 0;
};

// `socket` is non-blocking, belongs to the caller and outlives the transport.
std::unique_ptr<Transport> make_plain_transport(int socket);
std::unique_ptr<Transport> make_tls_transport(int socket, TlsSession session);

}  // namespace horae
