// A client for tests: plain bytes over a socket, so that it can also say what a library would not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace horae::testing {

struct TestResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// Waits some seconds at most for anything, so that a test fails instead of hanging. Not for several threads at once.
class TestClient {
 public:
  explicit TestClient(std::uint16_t port, bool ipv6 = false);
  ~TestClient();
  TestClient(TestClient&& other) noexcept;
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  // False if the server has closed the connection.
  bool send(std::string_view bytes);

  // The next response, or nothing if the server closed the connection instead. `to_head`: it has no body.
  std::optional<TestResponse> receive(bool to_head = false);

  // True if the server closes the connection without a further byte.
  bool is_closed_by_server();

  // Says that nothing more will be sent; answers can still be read.
  void finish_sending();
  void close();

  // One request and its response. A body is sent with its length, and as JSON unless `headers` say otherwise.
  TestResponse call(std::string_view method, std::string_view target, std::string_view body = {},
                    std::string_view headers = {});

 private:
  bool fill();  // reads more into received_; false at the end

  int socket_ = -1;
  std::string received_;
};

std::string request_text(std::string_view method, std::string_view target, std::string_view body = {},
                         std::string_view headers = {});

}  // namespace horae::testing
