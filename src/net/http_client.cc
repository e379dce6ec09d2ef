#include "net/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <mutex>
#include <optional>

#include "base/check.h"
#include "base/duration.h"
#include "base/quote.h"

namespace horae {
namespace {

void start_curl() {
  static std::once_flag once;
  std::call_once(once,
                 [] { HORAE_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "libcurl must initialize"); });
}

struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListDeleter>;

// The response as it arrives, and why it was cut off, if it was.
struct Arriving {
  NetResponse response;
  const std::function<bool(std::string_view)>& take;
  std::size_t head_bytes = 0;
  const HttpClientOptions& limits;
  bool is_too_large = false;
  bool is_success = false;
  bool was_ended = false;  // by `take`
};

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// libcurl's callback for each line of a head. With interim responses (100 Continue) there are several heads; the last
// one counts.
std::size_t take_header(char* data, std::size_t, std::size_t size, void* user) {
  auto& arriving = *static_cast<Arriving*>(user);
  arriving.head_bytes += size;
  arriving.is_too_large = arriving.head_bytes > arriving.limits.max_head_bytes;
  if (arriving.is_too_large) return 0;
  const std::string_view line(data, size);
  if (line.starts_with("HTTP/")) {
    arriving.response.headers.clear();
    const std::size_t space = std::min(line.find(' '), line.size());
    arriving.is_success = line.substr(space).starts_with(" 2");
  }
  const std::size_t colon = line.find(':');
  if (line.starts_with("HTTP/") || colon == std::string_view::npos) return size;
  std::string name(trimmed(line.substr(0, colon)));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  arriving.response.headers.push_back({std::move(name), std::string(trimmed(line.substr(colon + 1)))});
  return size;
}

std::size_t take_body(char* data, std::size_t, std::size_t size, void* user) {
  auto& arriving = *static_cast<Arriving*>(user);
  if (arriving.take && arriving.is_success) {
    arriving.was_ended = !arriving.take({data, size});
    return arriving.was_ended ? 0 : size;
  }
  arriving.is_too_large = arriving.response.body.size() + size > arriving.limits.max_body_bytes;
  if (arriving.is_too_large) return 0;
  arriving.response.body.append(data, size);
  return size;
}

// Nothing for an address that is neither IPv4 nor IPv6.
std::optional<IpAddress> ip_of(const sockaddr& address, std::size_t size) {
  IpAddress ip;
  if (address.sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in four{};
    std::memcpy(&four, &address, sizeof four);
    ip.bytes[10] = ip.bytes[11] = 0xff;
    std::memcpy(ip.bytes.data() + 12, &four.sin_addr, 4);
    return ip;
  }
  if (address.sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 six{};
    std::memcpy(&six, &address, sizeof six);
    std::memcpy(ip.bytes.data(), &six.sin6_addr, 16);
    return ip;
  }
  return std::nullopt;
}

// What judges the addresses of a call, and why it refused the last one.
struct Judgement {
  const AddressPolicy* policy = nullptr;
  std::string refusal = {};
};

// libcurl's callback for each connection: gets the address that it is about to connect to, and returns a socket for it.
curl_socket_t open_socket(void* user, curlsocktype, curl_sockaddr* target) {
  auto& judgement = *static_cast<Judgement*>(user);
  const auto ip = ip_of(target->addr, target->addrlen);
  auto refusal =
      ip ? judgement.policy->refusal(*ip) : std::optional<std::string>("the address is of an unknown family");
  judgement.refusal = std::move(refusal).value_or("");
  if (!judgement.refusal.empty()) return CURL_SOCKET_BAD;
  return ::socket(target->family, target->socktype | SOCK_CLOEXEC, target->protocol);
}

// A line break would start another header.
bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

Result<HeaderList> make_headers(const NetRequest& request) {
  HeaderList list;
  const auto append = [&list](const std::string& line) {
    curl_slist* longer = curl_slist_append(list.get(), line.c_str());
    HORAE_CHECK(longer != nullptr, "out of memory");
    (void)list.release();
    list.reset(longer);
  };
  append("Expect:");  // no waiting for 100 Continue
  for (const NetHeader& header : request.headers) {
    if (!is_one_line(header.name) || !is_one_line(header.value) || header.name.empty()) {
      return Error{ErrorCode::kMalformed, fmt::format("header {}: must be one line", quote(header.name))};
    }
    append(header.value.empty() ? header.name + ";" : header.name + ": " + header.value);
  }
  return list;
}

bool is_method(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}

// libcurl changes these methods as a redirect asks (303: GET); not one that is set by CUSTOMREQUEST.
bool can_be_redirected(const NetRequest& request) {
  return request.method == "POST" || (request.body.empty() && (request.method == "GET" || request.method == "HEAD"));
}

long to_milliseconds(Duration duration) {
  return std::max(1L, static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(duration).count()));
}

// Codes of libcurl after which the request certainly had no effect; those of TLS are handled apart.
bool was_never_sent(CURLcode code) { return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT; }

Error failure(const NetRequest& request, CURLcode code, const char* details) {
  const std::string what = fmt::format("{} {}", request.method, request.url);
  const std::string why = *details != '\0' ? details : curl_easy_strerror(code);
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
    return {ErrorCode::kMalformed, fmt::format("{}: {}; give http://HOST:PORT", what, why)};
  }
  if (code == CURLE_SSL_CACERT_BADFILE) {
    return {ErrorCode::kMalformed, fmt::format("{}: {}; give a file of certificates in PEM", what, why)};
  }
  if (code == CURLE_PEER_FAILED_VERIFICATION) {
    return {
        ErrorCode::kUnavailable,
        fmt::format("{}: {}; nothing was sent: name the certificate of its authority (--ca or HORAE_CA)", what, why)};
  }
  if (code == CURLE_SSL_CONNECT_ERROR) {
    return {ErrorCode::kUnavailable,
            fmt::format("{}: {}; nothing was sent: does it speak TLS, or is it http://?", what, why)};
  }
  if (was_never_sent(code)) {
    return {ErrorCode::kUnavailable,
            fmt::format("{}: {}; nothing was sent: is it running, and is the address right?", what, why)};
  }
  if (code == CURLE_OPERATION_TIMEDOUT) {
    return {
        ErrorCode::kUnavailable,
        fmt::format(
            "{}: no response within {}; the request may have taken effect: check, or repeat it with the same id or key",
            what, format_duration(request.timeout))};
  }
  return {
      ErrorCode::kUnavailable,
      fmt::format("{}: {}; the request may have taken effect: check, or repeat it with the same id or key", what, why)};
}

}  // namespace

// A libcurl handle, which keeps connections open.
class HttpClient::Core {
 public:
  explicit Core(HttpClientOptions options) : options_(std::move(options)) {
    start_curl();
    curl_ = curl_easy_init();
    HORAE_CHECK(curl_ != nullptr, "libcurl must create a handle");
  }
  ~Core() { curl_easy_cleanup(curl_); }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  Result<NetResponse> send(const NetRequest& request) {
    if (!is_method(request.method)) {
      return Error{ErrorCode::kMalformed, fmt::format("method {}: must be GET, POST, ...", quote(request.method))};
    }
    if (!is_one_line(request.url)) {
      return Error{ErrorCode::kMalformed, fmt::format("URL {}: must be one line", quote(request.url))};
    }
    const auto headers = make_headers(request);
    if (!headers.ok()) return headers.error();
    Arriving arriving{.response = {}, .take = request.take, .limits = options_};
    set_up(request, headers->get(), arriving);
    Judgement judgement{.policy = options_.policy.get()};
    if (judgement.policy != nullptr) {
      set(CURLOPT_OPENSOCKETFUNCTION, open_socket);
      set(CURLOPT_OPENSOCKETDATA, &judgement);
    }
    const CURLcode done = curl_easy_perform(curl_);
    if (done != CURLE_OK && !judgement.refusal.empty()) {
      return Error{ErrorCode::kForbidden,
                   fmt::format("{} {}: {}; nothing was sent there", request.method, request.url, judgement.refusal)};
    }
    if (arriving.is_too_large) {
      return Error{ErrorCode::kOverLimit, fmt::format("{} {}: the response is larger than {} bytes; request less",
                                                      request.method, request.url, options_.max_body_bytes)};
    }
    if (done != CURLE_OK && done != CURLE_TOO_MANY_REDIRECTS && !arriving.was_ended)
      return failure(request, done, error_);
    long status = 0;
    set_or_get(curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status));
    arriving.response.status = static_cast<int>(status);
    return std::move(arriving.response);
  }

 private:
  static void set_or_get(CURLcode done) { HORAE_CHECK(done == CURLE_OK, "libcurl must support this option"); }

  template <typename T>
  void set(CURLoption option, T value) {
    set_or_get(curl_easy_setopt(curl_, option, value));
  }

  void set_up(const NetRequest& request, curl_slist* headers, Arriving& arriving) {
    curl_easy_reset(curl_);  // keeps the connections
    error_[0] = '\0';
    set(CURLOPT_URL, request.url.c_str());
    if (request.method == "HEAD") set(CURLOPT_NOBODY, 1L);
    if (request.max_redirects == 0 || !can_be_redirected(request)) {
      set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    } else {
      set(CURLOPT_FOLLOWLOCATION, 1L);
      set(CURLOPT_MAXREDIRS, long{request.max_redirects});
      set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    }
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NOSIGNAL, 1L);
    if (!options_.ca_file.empty()) set(CURLOPT_CAINFO, options_.ca_file.c_str());
    set(CURLOPT_HTTPHEADER, headers);
    if (!request.body.empty() || request.method == "POST") {
      set(CURLOPT_POSTFIELDS, request.body.c_str());
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    }
    set(CURLOPT_TIMEOUT_MS, to_milliseconds(request.timeout));
    set(CURLOPT_CONNECTTIMEOUT_MS, to_milliseconds(options_.connect_timeout));
    set(CURLOPT_HEADERFUNCTION, take_header);
    set(CURLOPT_HEADERDATA, &arriving);
    set(CURLOPT_WRITEFUNCTION, take_body);
    set(CURLOPT_WRITEDATA, &arriving);
    set(CURLOPT_ERRORBUFFER, error_);
  }

  const HttpClientOptions options_;
  CURL* curl_ = nullptr;
  char error_[CURL_ERROR_SIZE] = {};
};

HttpClient::HttpClient(HttpClientOptions options) : core_(std::make_unique<Core>(std::move(options))) {}
HttpClient::~HttpClient() = default;

Result<NetResponse> HttpClient::send(const NetRequest& request) { return core_->send(request); }

std::string_view NetResponse::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &NetHeader::name);
  return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

std::string escape_url(std::string_view text) {
  std::string result;
  for (const char byte : text) {
    const auto c = static_cast<unsigned char>(byte);
    const bool is_plain = std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == '~';
    result += is_plain ? std::string(1, byte) : fmt::format("%{:02X}", c);
  }
  return result;
}

}  // namespace horae
