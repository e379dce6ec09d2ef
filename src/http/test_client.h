// A client for tests: plain bytes over a socket, so that it can also send what a library would not.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace horae::testing {

struct TestResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// What a client offers in the TLS handshake.
struct TestTls {
  std::string trusted = {};           // the file with the certificates that it trusts; empty: it trusts all
  std::string protocol = "http/1.1";  // by ALPN; empty: no offer
  bool is_old = false;                // at most TLS 1.1
};

// All waits are limited to some seconds, so that a test fails instead of hanging. Not thread-safe.
class TestClient {
 public:
  explicit TestClient(std::uint16_t port, bool ipv6 = false);
  TestClient();  // has a socket, but is not connected
  ~TestClient();
  TestClient(TestClient&& other) noexcept;
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  void connect(std::uint16_t port, bool ipv6 = false);

  // Before connect(): from another address of the loopback, "127.0.0.2"; with a small buffer, so that what is not
  // received stays at the server.
  void come_from(const std::string& address);
  void buffer_little();

  // Makes the handshake. False if it fails.
  bool start_tls(const TestTls& tls = {});
  std::string server_name() const;      // the common name in the server's certificate
  std::string chosen_protocol() const;  // by ALPN
  bool received_close_notify() const;   // from the server

  // False if the server has closed the connection.
  bool send(std::string_view bytes);

  // The next response, or nothing if the server closed the connection instead. `to_head`: it has no body.
  std::optional<TestResponse> receive(bool to_head = false);

  // After receive(true): the next piece of a chunked body, empty for the last one; nothing if the server closed the
  // connection instead.
  std::optional<std::string> receive_chunk();

  // All bytes until the server closes the connection.
  std::string receive_rest();

  // True if the server closes the connection without a further byte.
  bool is_closed_by_server();

  // Closes the sending half; answers can still be read.
  void finish_sending();
  void close();

  // One request and its response. A body is sent with its length, and as JSON unless `headers` say otherwise.
  TestResponse call(std::string_view method, std::string_view target, std::string_view body = {},
                    std::string_view headers = {});

 private:
  struct Tls;

  bool fill();                                // reads more into received_; false at the end
  std::optional<std::string> receive_line();  // without its end

  int socket_ = -1;
  std::unique_ptr<Tls> tls_;
  std::string received_;
};

std::string request_text(std::string_view method, std::string_view target, std::string_view body = {},
                         std::string_view headers = {});

}  // namespace horae::testing
