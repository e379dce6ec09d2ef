// A whole node for a bench.
#pragma once

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "app/node.h"
#include "app/open_store.h"
#include "base/check.h"
#include "base/clock.h"

namespace horae::bench {

// A node as `horae serve` composes it, in this process.
class WholeNode {
 public:
  // `slots` of its own.
  explicit WholeNode(const std::string& url, bool has_slots = true)
      : store_(std::move(open_store(url, clock_)).value()) {
    Config config;
    config.http.listen = {"127.0.0.1:0"};
    if (!has_slots) config.engine.dispatcher.slots = 0;
    node_ = std::make_unique<Node>(*store_, clock_, config, store_->queues().new_worker_id().value(),
                                   Logger(std::cerr, clock_, {.level = LogLevel::kError}));
    HORAE_CHECK(node_->start().ok(), "a free port is free");
  }
  ~WholeNode() { node_->stop(); }
  WholeNode(const WholeNode&) = delete;
  WholeNode& operator=(const WholeNode&) = delete;

  Store& store() { return node_->store(); }  // as the node uses it

  std::uint16_t port() const {
    const std::string url = node_->urls().front();
    return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  }

 private:
  SystemClock clock_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Node> node_;
};

}  // namespace horae::bench
