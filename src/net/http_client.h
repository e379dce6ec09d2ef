// An HTTP client. libcurl is an implementation detail.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/address_policy.h"

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
  Duration timeout = std::chrono::seconds(30);  // for the whole call, from the connect to the last byte of the response

  // Redirects to follow, for GET, HEAD and POST; beyond, and for other methods, the redirect is the response. Another host
  // does not get an Authorization header, but all others.
  int max_redirects = 0;

  // If set, called with each piece of a successful response's body as it arrives; NetResponse::body then stays empty.
  // Return false to end the response there.
  std::function<bool(std::string_view piece)> take = {};
};

struct NetResponse {
  int status = 0;
  std::vector<NetHeader> headers;  // in the order received, names in lower case
  std::string body;

  // The value of the first header with that name (in lower case); empty if there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpClientOptions {
  Duration connect_timeout = std::chrono::seconds(5);
  std::size_t max_head_bytes = 1 << 18;  // of a response; beyond: kOverLimit
  std::size_t max_body_bytes = 64 << 20;
  std::string ca_file = {};  // certificates (PEM) of the authorities to trust for https://; empty: the system's

  // Judges the address of each connection before it is opened, also after a redirect. Empty: every address is allowed.
  std::shared_ptr<const AddressPolicy> policy = {};
};

// Sends one request at a time and keeps connections open between them. It ignores proxies of the
// environment. It repeats a request only if a kept-open connection breaks before the first byte of the response,
// since the server may have closed it while it was idle. So a request that must not take effect twice needs an id.
//
// Not thread-safe: one thread at a time.
class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // The response, with any status. Without a response:
  //   kMalformed    the URL, the method or a header is invalid, or the file of certificates cannot be read
  //   kForbidden    the policy refuses the address; nothing was sent to it (after a redirect: the first request was)
  //   kOverLimit    the response is too large; the request took effect
  //   kUnavailable  there was no response, or not in time. The message says whether the request may have taken effect.
  Result<NetResponse> send(const NetRequest& request);

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

// Percent-encodes `text` for a path segment or a query: everything but letters, digits and "-._~" becomes %XX.
std::string escape_url(std::string_view text);

}  // namespace horae
