#include "engine/webhook/webhook_sink.h"

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/bounded_queue.h"
#include "net/http_client.h"

namespace horae {
namespace {

constexpr int kMaxRedirects = 3;
constexpr std::size_t kMaxAnswer = 64 << 10;
constexpr int kRequestTimeout = 408;
constexpr int kTooManyRequests = 429;

PublishEnd end_of(int status) {
  if (status >= 200 && status < 300) return PublishEnd::kPublished;
  const bool may_be_repeated = status >= 500 || status == kRequestTimeout || status == kTooManyRequests;
  return may_be_repeated ? PublishEnd::kFailed : PublishEnd::kRefused;
}

// Without an answer.
PublishEnd end_of(ErrorCode code) {
  const bool is_final = code == ErrorCode::kForbidden || code == ErrorCode::kMalformed;
  return is_final ? PublishEnd::kRefused : PublishEnd::kUnknown;
}

NetRequest request_of(const std::string& url, Publication message, Duration timeout) {
  NetRequest request{.method = "POST", .url = url, .timeout = timeout, .max_redirects = kMaxRedirects};
  request.headers = {{"content-type", "application/octet-stream"}, {"horae-message-id", escape_url(message.id)}};
  if (message.key) request.headers.push_back({"horae-message-key", escape_url(*message.key)});
  if (!message.value) request.headers.push_back({"horae-message-value", "null"});
  for (const MessageHeader& header : message.headers) {
    const std::string value = header.value ? "=" + escape_url(*header.value) : "";
    request.headers.push_back({"horae-header", escape_url(header.name) + value});
  }
  if (message.value) request.body = std::move(*message.value);
  return request;
}

}  // namespace

class WebhookSink::Core {
 public:
  Core(WebhookSinkOptions options, const Clock& clock, std::function<void()> wake)
      : options_(std::move(options)),
        policy_(std::make_shared<AddressPolicy>(options_.policy)),
        clock_(clock),
        wake_(std::move(wake)),
        waiting_(options_.most_waiting) {
    for (std::size_t i = 0; i < options_.calls; ++i) callers_.emplace_back([this] { run(); });
  }

  ~Core() {
    waiting_.close();
    for (std::thread& caller : callers_) caller.join();
  }

  std::size_t publish(std::vector<Publication>& messages) {
    const MonotonicTime deadline = clock_.now() + options_.timeout;
    std::size_t taken = 0;
    for (Publication& message : messages) {
      Waiting one{.message = std::move(message), .deadline = deadline};
      if (!waiting_.try_push(std::move(one))) {
        message = std::move(one.message);
        break;
      }
      ++taken;
    }
    return taken;
  }

  std::vector<PublishReport> take_reports() {
    const std::lock_guard lock(mutex_);
    return std::exchange(reports_, {});
  }

  SinkStatus status() {
    const std::lock_guard lock(mutex_);
    return {.is_connected = problem_.empty(), .problem = problem_};
  }

 private:
  struct Waiting {
    Publication message;
    MonotonicTime deadline;
  };

  // What is still waiting when the sink ends is called within its time, as well.
  void run() {
    HttpClient client({.max_body_bytes = kMaxAnswer, .policy = policy_});
    while (auto one = waiting_.pop()) put(call(client, std::move(*one)));
  }

  PublishReport call(HttpClient& client, Waiting one) {
    PublishReport report{.ticket = one.message.ticket, .end = PublishEnd::kFailed, .reason = ""};
    const Duration left = one.deadline - clock_.now();
    if (left <= Duration::zero()) {
      report.reason = "not sent in time: earlier calls of the webhook took too long";
      return report;
    }
    const auto answer = client.send(request_of(options_.url, std::move(one.message), left));
    if (!answer.ok()) {
      report.end = end_of(answer.error().code);
      report.reason = answer.error().message;
    } else {
      report.end = end_of(answer->status);
      if (report.end != PublishEnd::kPublished) report.reason = fmt::format("the webhook answers {}", answer->status);
    }
    return report;
  }

  void put(PublishReport report) {
    {
      const std::lock_guard lock(mutex_);
      problem_ = report.reason;
      reports_.push_back(std::move(report));
    }
    wake_();
  }

  const WebhookSinkOptions options_;
  const std::shared_ptr<const AddressPolicy> policy_;
  const Clock& clock_;
  const std::function<void()> wake_;
  BoundedQueue<Waiting> waiting_;

  std::mutex mutex_;
  std::vector<PublishReport> reports_;  // guarded by mutex_
  std::string problem_;                 // guarded by mutex_; of the last call

  std::vector<std::thread> callers_;
};

WebhookSink::WebhookSink(WebhookSinkOptions options, const Clock& clock, std::function<void()> wake)
    : core_(std::make_unique<Core>(std::move(options), clock, std::move(wake))) {}
WebhookSink::~WebhookSink() = default;

std::size_t WebhookSink::publish(std::vector<Publication>& messages) { return core_->publish(messages); }
std::vector<PublishReport> WebhookSink::take_reports() { return core_->take_reports(); }
SinkStatus WebhookSink::status() const { return core_->status(); }

}  // namespace horae
