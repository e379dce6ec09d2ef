// A private Kafka broker on free ports of 127.0.0.1, removed at the end of the test.
#pragma once

#include <map>
#include <memory>
#include <string>

namespace horae::testing {

// Starts the broker of tools/kafka and waits until it accepts clients; the first one on a machine fetches it. Aborts
// with a clear message on standard error if it cannot be started. It ends with the test process.
//
// Not thread-safe. The constructor and start() run on the main thread only, since the broker ends with the thread that
// started it.
class KafkaBroker {
 public:
  KafkaBroker();
  ~KafkaBroker();
  KafkaBroker(const KafkaBroker&) = delete;
  KafkaBroker& operator=(const KafkaBroker&) = delete;

  std::string address() const;  // "127.0.0.1:PORT"

  // Makes a topic, with a name that no other topic has unless it is given.
  struct TopicOptions {
    int partitions = 1;
    std::map<std::string, std::string> settings = {};
    std::string name = {};
  };
  std::string make_topic(const TopicOptions& options);
  std::string make_topic() { return make_topic(TopicOptions{}); }
  void set_partitions(const std::string& topic, int partitions);  // more than there are
  std::string new_name();                                         // of a topic or a group

  // The port stays the same. A broker that is down refuses connections.
  void stop();       // orderly
  void kill_hard();  // SIGKILL
  void start();      // again, on the same data

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// One for all tests of the binary, started by the first one that asks for it.
KafkaBroker& shared_kafka();

}  // namespace horae::testing
