// The bytes of one connection, plain or through TLS. Nothing here waits. Private to the server.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "http/tls_context.h"

namespace horae {

// Threads: one at a time.
class Transport {
 public:
  enum class State {
    kMoved,        // `count` bytes, at least one
    kNeedsInput,   // nothing before the socket can be read; TLS also says this of writes
    kNeedsOutput,  // nothing before the socket can be written; TLS also says this of reads
    kEnded,        // the client is gone, or has said that it sends no more
    kPlainHttp,    // the client speaks HTTP without TLS to a port of TLS
  };
  struct Moved {
    State state;
    std::size_t count = 0;
  };

  virtual ~Transport() = default;
  virtual Moved read(std::span<char> into) = 0;
  virtual Moved write(std::string_view bytes) = 0;  // perhaps only the first of them

  // What read() would say, without taking anything.
  virtual Moved peek() = 0;

  // True if there are bytes that were received already, so that waiting for the socket may wait for ever.
  virtual bool holds_input() const = 0;

  // Tells the client that nothing follows, if the protocol has a word for it.
  virtual void say_end() = 0;
};

// `socket` does not block, belongs to the caller and outlives the transport.
std::unique_ptr<Transport> make_plain_transport(int socket);
std::unique_ptr<Transport> make_tls_transport(int socket, TlsSession session);

}  // namespace horae
