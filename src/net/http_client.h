// HTTP to other programs. What it stands on (libcurl) stays inside.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace horae {

struct NetHeader {
  std::string name;
  std::string value;

  friend bool operator==(const NetHeader&, const NetHeader&) = default;
};

struct NetRequest {
  std::string method = "GET";
  std::string url;  // http:// or https://
  std::vector<NetHeader> headers = {};
  std::string body = {};
  Duration timeout = std::chrono::seconds(30);  // for all of it, from the connect to the last byte of the answer

  // Gets the body of a success piece by piece as it arrives, instead of NetResponse::body; false ends the answer here.
  std::function<bool(std::string_view piece)> take = {};
};

struct NetResponse {
  int status = 0;
  std::vector<NetHeader> headers;  // in their order, names in lower case
  std::string body;

  // The value of the first header with that name (in lower case); empty if there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpClientOptions {
  Duration connect_timeout = std::chrono::seconds(5);
  std::size_t max_head_bytes = 1 << 18;  // of an answer; beyond: kOverLimit
  std::size_t max_body_bytes = 64 << 20;
  std::string ca_file = {};  // of certificates (PEM) of those who vouch for https://; empty: those the system trusts
};

// Sends requests one by one over connections that it keeps open. It follows no redirects and uses no proxy of the
// environment. It repeats a request only if a connection that was kept open breaks before the first byte of the answer,
// for that is how a connection looks that the other side had closed meanwhile. So a request that must not be taken
// twice carries an id.
//
// Threads: one at a time.
class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // The answer, whatever its status. Without one:
  //   kMalformed    the URL, the method or a header cannot be sent, or the file of certificates cannot be read
  //   kOverLimit    the answer is too large; it was made
  //   kUnavailable  nobody answers, or not in time. The message says whether the request can have been taken.
  Result<NetResponse> send(const NetRequest& request);

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

// `text` as a part of a path or a query: all but letters, digits and "-._~" becomes %XX.
std::string escape_url(std::string_view text);

}  // namespace horae
