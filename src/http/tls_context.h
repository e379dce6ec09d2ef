// A certificate and its key, loaded for use by connections. Private to the server.
#pragma once

#include <memory>

#include "base/result.h"
#include "http/server.h"

struct ssl_ctx_st;
struct ssl_st;

namespace horae {

struct TlsFree {
  void operator()(ssl_ctx_st* context) const;
  void operator()(ssl_st* session) const;
};
using TlsSession = std::unique_ptr<ssl_st, TlsFree>;

// TLS 1.2 and 1.3 with forward secrecy, ALPN http/1.1. Sessions are resumed by tickets, which cost the server no
// memory.
//
// Thread-safe.
class TlsContext {
 public:
  // Reads the files. The error names the bad file and OpenSSL's reason.
  static Result<std::shared_ptr<const TlsContext>> load(const TlsOptions& options);

  // The server's side of a new connection, not attached to a socket yet. It may outlive the context. Null if out of
  // memory.
  TlsSession new_session() const;

 private:
  explicit TlsContext(std::unique_ptr<ssl_ctx_st, TlsFree> context) : context_(std::move(context)) {}

  std::unique_ptr<ssl_ctx_st, TlsFree> context_;
};

}  // namespace horae
