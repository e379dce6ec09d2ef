#include "http/transport.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/check.h"

namespace horae {
namespace {

using State = Transport::State;

bool would_block(ssize_t result) { return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK); }

// Writing to a connection that the client closed must not raise SIGPIPE.
ssize_t send_bytes(int socket, const char* bytes, std::size_t size) {
  ssize_t sent = 0;
  do {
    sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

ssize_t receive_bytes(int socket, char* bytes, std::size_t size, int flags) {
  ssize_t received = 0;
  do {
    received = ::recv(socket, bytes, size, flags);
  } while (received < 0 && errno == EINTR);
  return received;
}

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(int socket) : socket_(socket) {}

  Moved read(std::span<char> into) override {
    return moved(receive_bytes(socket_, into.data(), into.size(), 0), State::kNeedsInput);
  }

  Moved write(std::string_view bytes) override {
    return moved(send_bytes(socket_, bytes.data(), bytes.size()), State::kNeedsOutput);
  }

  Moved peek() override {
    char byte = 0;
    return moved(receive_bytes(socket_, &byte, 1, MSG_PEEK), State::kNeedsInput);
  }

  bool holds_input() const override { return false; }
  void say_end() override {}

 private:
  static Moved moved(ssize_t result, State if_it_would_block) {
    if (result > 0) return {State::kMoved, static_cast<std::size_t>(result)};
    return {would_block(result) ? if_it_would_block : State::kEnded};
  }

  const int socket_;
};

// ---- TLS ----

// OpenSSL's own socket BIO writes without MSG_NOSIGNAL, so this one replaces it.

int socket_of(BIO* bio) { return *static_cast<int*>(BIO_get_data(bio)); }

int bio_write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = send_bytes(socket_of(bio), bytes, static_cast<std::size_t>(size));
  if (would_block(sent)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int bio_read(BIO* bio, char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t received = receive_bytes(socket_of(bio), bytes, static_cast<std::size_t>(size), 0);
  if (would_block(received)) BIO_set_retry_read(bio);
  return static_cast<int>(received);
}

long bio_control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;  // nothing is buffered here
}

const BIO_METHOD* socket_method() {
  static BIO_METHOD* const kMethod = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
    HORAE_CHECK(made != nullptr, "OpenSSL has memory for a BIO method");
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return kMethod;
}

// The first reads and writes make the handshake.
class TlsTransport final : public Transport {
 public:
  TlsTransport(int socket, TlsSession session) : socket_(socket), session_(std::move(session)) {
    BIO* bio = session_ ? BIO_new(socket_method()) : nullptr;
    if (bio == nullptr) {
      has_failed_ = true;
      return;
    }
    BIO_set_data(bio, &socket_);
    BIO_set_init(bio, 1);
    SSL_set_bio(session_.get(), bio, bio);
  }

  Moved read(std::span<char> into) override {
    return call([&] { return SSL_read(session_.get(), into.data(), int_size(into.size())); });
  }

  Moved write(std::string_view bytes) override {
    return call([&] { return SSL_write(session_.get(), bytes.data(), int_size(bytes.size())); });
  }

  Moved peek() override {
    char byte = 0;
    return call([&] { return SSL_peek(session_.get(), &byte, 1); });
  }

  bool holds_input() const override { return !has_failed_ && SSL_pending(session_.get()) > 0; }

  void say_end() override {
    if (has_failed_ || SSL_is_init_finished(session_.get()) == 0) return;
    ERR_clear_error();
    (void)SSL_shutdown(session_.get());  // sends close_notify without waiting for the client's
  }

 private:
  static int int_size(std::size_t size) { return static_cast<int>(std::min<std::size_t>(size, INT_MAX)); }

  template <typename Call>
  Moved call(const Call& call) {
    if (has_failed_) return {State::kEnded};
    ERR_clear_error();
    const int result = call();
    if (result > 0) return {State::kMoved, static_cast<std::size_t>(result)};
    switch (SSL_get_error(session_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return {State::kNeedsInput};
      case SSL_ERROR_WANT_WRITE:
        return {State::kNeedsOutput};
      case SSL_ERROR_ZERO_RETURN:
        return {State::kEnded};
      default:
        return failed();
    }
  }

  // OpenSSL forbids further calls after such an error.
  Moved failed() {
    has_failed_ = true;
    const bool is_http = ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
    ERR_clear_error();
    return {is_http ? State::kPlainHttp : State::kEnded};
  }

  int socket_;  // the session's BIO points to it
  TlsSession session_;
  bool has_failed_ = false;
};

}  // namespace

std::unique_ptr<Transport> make_plain_transport(int socket) { return std::make_unique<PlainTransport>(socket); }

std::unique_ptr<Transport> make_tls_transport(int socket, TlsSession session) {
  return std::make_unique<TlsTransport>(socket, std::move(session));
}

}  // namespace horae
