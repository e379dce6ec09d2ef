// Laws of how a node's connection cuts bytes into requests. The real connection reads from one end of a pair of
// sockets. The first byte of an input says in how small pieces the rest arrives.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "http/connection.h"
#include "http/io_loop.h"
#include "http/uri.h"
#include "laws.h"

namespace horae {
namespace {

using boost::asio::ip::tcp;

// Small enough that inputs reach them.
constexpr HttpLimits kLimits = {.head_bytes = 512, .target_bytes = 128, .body_bytes = 1024};

constexpr auto kPatience = std::chrono::seconds(5);

struct Heard {
  std::vector<HttpRequest> requests;
  std::string answers;
};

// An assertion of Beast that an input breaks is a bug, although it costs only the connection.
class NoAssertions final : public Counter {
 public:
  void add(double) override { HORAE_CHECK(false, "no input breaks an assertion"); }
};

// A server with one connection and no threads: it works only when the target polls it.
class Server {
 public:
  Server()
      : loop_(std::make_shared<IoLoop>(log_)),
        host_(new ConnectionHost{
            .limits = kLimits,
            .clock = clock_,
            .log = log_,
            .handler = [this](HttpRequest request, const Responder& responder) { take(std::move(request), responder); },
            .on_closed = [] {},
            .failed_assertions = no_assertions_}) {}

  // The result of `text` arriving in pieces of this size.
  Heard hear(std::string_view text, std::size_t piece) {
    heard_ = {};
    std::array<int, 2> ends = {};
    HORAE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0, "there are sockets");
    client_ = ends[0];
    connect(ends[1]);
    while (!text.empty() && !loop_->connections().empty()) {
      const std::string_view sent = text.substr(0, piece);
      if (::send(client_, sent.data(), sent.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(sent.size())) break;
      text.remove_prefix(sent.size());
      run();
    }
    ::close(client_);
    run();
    // The kernel may take a moment to report the end.
    while (!loop_->connections().empty() && loop_->context().run_one_for(kPatience) > 0) run();
    HORAE_CHECK(loop_->connections().empty(), "a connection ends with its client");
    return std::move(heard_);
  }

 private:
  void connect(int socket) {
    const auto connection =
        std::make_shared<Connection>(tcp::socket(loop_->context(), tcp::v4(), socket), ConnectionDoor{}, loop_, host_);
    loop_->connections().insert(connection);
    connection->start(false);
    run();
  }

  void run() {
    loop_->context().restart();
    std::array<char, 4096> buffer = {};
    while (loop_->context().poll() > 0) {
      for (ssize_t count = 0; (count = ::recv(client_, buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0;) {
        heard_.answers.append(buffer.data(), static_cast<std::size_t>(count));
      }
    }
  }

  void take(HttpRequest request, const Responder& responder) {
    heard_.requests.push_back(std::move(request));
    responder.answer({.status = 200, .body = "{}"});
  }

  std::ostringstream lines_;
  SystemClock clock_;
  Logger log_{lines_, clock_};
  NoAssertions no_assertions_;
  std::shared_ptr<IoLoop> loop_;
  std::shared_ptr<ConnectionHost> host_;
  int client_ = -1;
  Heard heard_;
};

bool has(std::string_view text, std::string_view bytes) { return text.find_first_of(bytes) != std::string_view::npos; }

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The end of a body must be unambiguous: a proxy that sees another end could be made to pass hidden requests.
void require_clear_length(const HttpRequest& request) {
  const auto times = [&](std::string_view name) {
    return std::ranges::count_if(request.headers, [&](const auto& h) { return equals_ignoring_case(h.name, name); });
  };
  const std::string_view encoding = request.header("Transfer-Encoding");
  if (times("Transfer-Encoding") > 0) {
    HORAE_CHECK(times("Transfer-Encoding") == 1 && times("Content-Length") == 0, "a body has one length");
    HORAE_CHECK(equals_ignoring_case(encoding, "chunked"), "a body with an unknown end is refused");
  }
  if (times("Content-Length") > 0) {
    HORAE_CHECK(request.body.size() == std::stoull(std::string(request.header("Content-Length"))), "a body is whole");
  }
}

// What a proxy or a browser understands as this host must be what the gate compares.
void require_clear_host(const HttpRequest& request) {
  const auto count = std::ranges::count_if(
      request.headers, [](const HttpHeader& header) { return equals_ignoring_case(header.name, "Host"); });
  HORAE_CHECK(count <= 1, "a request names its host once");
  HORAE_CHECK(parse_authority(request.header("Host")).has_value(), "a host is a name or an address, with a port");
}

// The headers of the first request are the lines of its head: none is a trailer, and none has two lines. In absolute
// form, an HTTP/1.0 request gets a Host that it does not have itself.
void require_headers_of_head(const HttpRequest& first, std::string_view text) {
  const std::string_view head = text.substr(0, text.find("\r\n\r\n"));
  const auto lines = static_cast<std::size_t>(std::ranges::count(head, '\n'));
  const bool is_path = head.find(" /") == head.find(' ');
  HORAE_CHECK(first.headers.size() <= lines + (is_path ? 0 : 1), "what follows a head adds no header");
  HORAE_CHECK(count_of(head, "\n ") == 0 && count_of(head, "\n\t") == 0, "a header has one line");
}

void require_laws_of_requests(const HttpRequest& request) {
  constexpr std::string_view kEnds("\r\n\0", 3);
  HORAE_CHECK(!request.method.empty() && !has(request.method, kEnds), "a request has a method");
  HORAE_CHECK(!has(request.path, kEnds) && !has(request.path, " ?"), "a path is one word");
  HORAE_CHECK(request.path.size() + request.query.size() <= kLimits.target_bytes, "a target has its limit");
  HORAE_CHECK(request.body.size() <= kLimits.body_bytes, "a body has its limit");
  for (const HttpHeader& header : request.headers) {
    HORAE_CHECK(!header.name.empty() && !has(header.name, kEnds) && !has(header.name, ": "), "a header has a name");
    HORAE_CHECK(!has(header.value, kEnds), "a value is one line");
  }
  HORAE_CHECK(request.path.starts_with('/') || request.path == "*", "a path is one of this server");
  require_clear_length(request);
  require_clear_host(request);
}

bool are_same(const HttpRequest& one, const HttpRequest& other) {
  return one.method == other.method && one.path == other.path && one.query == other.query && one.body == other.body &&
         std::ranges::equal(one.headers, other.headers, [](const HttpHeader& a, const HttpHeader& b) {
           return a.name == b.name && a.value == b.value;
         });
}

void require_laws(std::string_view text) {
  static Server server;
  if (text.empty()) return;
  const std::size_t piece = 1 + static_cast<unsigned char>(text.front()) % 64;
  text.remove_prefix(1);
  const Heard whole = server.hear(text, text.size());
  for (const HttpRequest& request : whole.requests) require_laws_of_requests(request);
  if (!whole.requests.empty()) require_headers_of_head(whole.requests.front(), text);
  HORAE_CHECK(count_of(whole.answers, "HTTP/1.1 200 ") == whole.requests.size(), "each request has its answer");
  HORAE_CHECK(count_of(whole.answers, "HTTP/1.1 4") <= 1, "what follows a refusal is not read");
  const Heard pieces = server.hear(text, piece);
  HORAE_CHECK(std::ranges::equal(whole.requests, pieces.requests, are_same), "how bytes arrive changes nothing");
}

}  // namespace
}  // namespace horae

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  horae::require_laws(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
