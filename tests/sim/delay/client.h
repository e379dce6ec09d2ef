// An application: sends messages by the input topic and by put, cancels and moves some, and sends some again on receipt.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/delay/broker.h"
#include "tests/sim/delay/node.h"

namespace horae::sim {

class DelayClient {
 public:
  DelayClient(World& world, Broker& broker, DelayLedger& ledger, const DelayPlan& plan,
              std::vector<std::unique_ptr<RelayNode>>& nodes);

  void start();
  void stop() { is_stopped_ = true; }
  bool is_busy() const { return open_puts_ > 0; }

  // The output refuses these, until accept_all().
  bool is_refused(MessageNumber number) const { return !accepts_all_ && refused_.contains(number); }
  void accept_all() { accepts_all_ = true; }

 private:
  void next();
  void send(const std::string& id, Duration delay, MessageKind kind);
  void put(const std::string& id, Duration delay);
  void try_put(const std::shared_ptr<NewMessage>& message, MessageNumber number);
  void meddle();
  void receive(const Publication& message);
  std::string draw_id();

  World& world_;
  Broker& broker_;
  DelayLedger& ledger_;
  const DelayPlan& plan_;
  std::vector<std::unique_ptr<RelayNode>>& nodes_;
  MessageNumber last_ = 0;
  std::vector<std::string> recent_;
  std::map<std::string, int> rearms_;  // how often each id is sent again
  std::set<MessageNumber> refused_;
  int open_puts_ = 0;
  bool is_stopped_ = false;
  bool accepts_all_ = false;
};

}  // namespace horae::sim
