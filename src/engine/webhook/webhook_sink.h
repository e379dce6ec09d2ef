// An output that is a URL.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "engine/relay/sink.h"
#include "net/address_policy.h"

namespace horae {

struct WebhookSinkOptions {
  std::string url;
  Duration timeout = std::chrono::milliseconds(2500);  // from publish() to the report
  AddressPolicy policy{};                              // judges the address of each connection
  std::size_t calls = 8;                               // at once
  std::size_t most_waiting = 1'000;
};

// Each message is one POST whose body is its value. Header fields, percent-encoded, so that any bytes pass:
//
//   horae-message-id      the id
//   horae-message-key     the key; absent if it is null
//   horae-message-value   "null" if the value is null; absent otherwise
//   horae-header          one for each header of the message, in order: NAME=VALUE, or NAME alone if the value is null
//
// 2xx: published. 408, 429 and 5xx: failed, so the relay tries again. No answer: unknown, likewise. Other answers, and an
// address that the policy refuses: refused.
//
// Thread-safe.
class WebhookSink final : public Sink {
 public:
  // The clock must be the system's and outlive the sink.
  WebhookSink(WebhookSinkOptions options, const Clock& clock, std::function<void()> wake);
  ~WebhookSink() override;
  WebhookSink(const WebhookSink&) = delete;
  WebhookSink& operator=(const WebhookSink&) = delete;

  std::size_t publish(std::vector<Publication>& messages) override;
  std::vector<PublishReport> take_reports() override;
  SinkStatus status() const override;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace horae
