#include "http/tls_context.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstring>
#include <string_view>

#include "base/quote.h"

namespace horae {
namespace {

constexpr char kCiphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20";  // of TLS 1.2; all of 1.3 are allowed
constexpr unsigned char kProtocols[] = "\x08http/1.1";      // in ALPN format: each name after its length

// Why OpenSSL's last call failed: its first error is the cause, the later ones come from its callers.
std::string reason() {
  const unsigned long code = ERR_peek_error();
  ERR_clear_error();
  if (code == 0) return "unknown reason";
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(static_cast<int>(ERR_GET_REASON(code)));
  const char* text = ERR_reason_error_string(code);
  return text != nullptr ? text : fmt::format("OpenSSL error {:x}", code);
}

Error bad_file(std::string_view what, const std::string& path) {
  return {ErrorCode::kRefused, fmt::format("{} {}: {}", what, quote(path), reason())};
}

// Without it OpenSSL would prompt at the terminal for the password of an encrypted key, and block.
int no_password(char* /*buffer*/, int /*size*/, int /*is_for_writing*/, void* /*unused*/) { return -1; }

// A client offers a list like kProtocols. If none of it is supported, it is refused, as RFC 7301 requires.
int choose_protocol(SSL* /*session*/, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned int offered_size, void* /*unused*/) {
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_size, kProtocols, sizeof kProtocols - 1, offered, offered_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void set_up(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(context, kCiphers);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                   SSL_OP_PRIORITIZE_CHACHA);
  // Idle connections keep no buffers; a write may be partial, and continue from another address.
  SSL_CTX_set_mode(context,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_default_passwd_cb(context, no_password);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
}

}  // namespace

void TlsFree::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }
void TlsFree::operator()(ssl_st* session) const { SSL_free(session); }

Result<std::shared_ptr<const TlsContext>> TlsContext::load(const TlsOptions& options) {
  ERR_clear_error();
  std::unique_ptr<ssl_ctx_st, TlsFree> context(SSL_CTX_new(TLS_server_method()));
  if (!context) return Error{ErrorCode::kInternal, "cannot set up TLS: " + reason()};
  set_up(context.get());
  if (SSL_CTX_use_certificate_chain_file(context.get(), options.certificate.c_str()) != 1) {
    return bad_file("certificate", options.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), options.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return bad_file("key", options.key);
  }
  // A key of another kind, such as EC beside an RSA certificate, was taken above as that of a second certificate.
  if (SSL_CTX_check_private_key(context.get()) != 1) return bad_file("key", options.key);
  return std::shared_ptr<const TlsContext>(new TlsContext(std::move(context)));
}

TlsSession TlsContext::new_session() const {
  TlsSession session(SSL_new(context_.get()));
  if (session) SSL_set_accept_state(session.get());
  return session;
}

}  // namespace horae
