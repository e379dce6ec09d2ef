// Load for an HTTP server on this machine: a few threads, each with many connections that only wait for responses.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace horae::bench {

struct Load {
  std::uint16_t port = 0;
  int connections = 64;
  int threads = 1;
  double seconds = 1.0;
};

// Sends requests for a while, one at a time on each connection, and returns the responses per second. `next` makes the
// text of a request; for each connection index it is called by one thread at a time. A response with a status other than
// 2xx ends the program.
double requests_per_second(const Load& load, const std::function<std::string(int connection)>& next);

// The same for clients that read the answers: `next` gets the body of the last one, which is empty at first. An empty
// request means that the connection has nothing more to say.
double answers_per_second(const Load& load,
                          const std::function<std::string(int connection, const std::string& answer)>& next);

// One connection, one request at a time.
class BlockingClient {
 public:
  explicit BlockingClient(std::uint16_t port);
  ~BlockingClient();
  BlockingClient(const BlockingClient&) = delete;
  BlockingClient& operator=(const BlockingClient&) = delete;

  // The body of the response, which must be a 2xx.
  std::string call(const std::string& request);

 private:
  int socket_;
};

// `token`: the secret of an API token, or empty.
std::string post_request(const std::string& target, const std::string& body, const std::string& token = {});

}  // namespace horae::bench
