// A simulated broker: an input topic with a group of consumers, and what is published.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/relay/sink.h"
#include "engine/relay/source.h"
#include "tests/sim/delay/ledger.h"

namespace horae::sim {

// The process that a source or a sink lives in.
struct Process {
  virtual ~Process() = default;
  virtual bool is_dead() const = 0;
  virtual Instant paused_until() const = 0;
};

class BrokerSource;

// Partitions, the offsets that the group committed, and which member has which partition. Assignments are eager: in a
// rebalance all members let go of all partitions first. A member that does not let go within the session is thrown out.
class Broker {
 public:
  static constexpr Duration kSession = std::chrono::seconds(6);

  Broker(World& world, DelayLedger& ledger, const DelayPlan& plan)
      : world_(world), ledger_(ledger), plan_(plan), logs_(static_cast<std::size_t>(plan.partitions)) {}

  // ---- The client ----
  RecordPlace next_place();  // in a random partition
  void append(SourceRecord record);
  std::vector<std::int64_t> ends() const;

  // Calls `receive` for what is published.
  void consume(std::function<void(const Publication&)> receive) { receive_ = std::move(receive); }

  // ---- Consumers ----
  void join(BrokerSource& source);
  void leave(BrokerSource& source);   // it has let go
  void vanish(BrokerSource& source);  // its process is dead
  void rebalance();
  void on_let_go(BrokerSource& source);
  bool is_member(const BrokerSource& source) const { return members_.contains(&source); }
  void commit(const BrokerSource& source, std::int32_t partition, std::uint64_t assignment, std::int64_t offset);
  std::vector<SourceRecord> fetch(std::int32_t partition, std::int64_t from, std::size_t max) const;

  // ---- Producers ----
  void publish(const Publication& message);

  // ---- Faults ----
  void go_down(Duration length);
  bool is_down() const { return is_down_; }

 private:
  struct Owner {
    const BrokerSource* source = nullptr;
    std::uint64_t assignment = 0;
  };

  void check_rebalance(std::uint64_t number, Instant deadline);
  void assign();
  std::vector<BrokerSource*> in_order() const;

  World& world_;
  DelayLedger& ledger_;
  const DelayPlan& plan_;
  std::vector<std::vector<SourceRecord>> logs_;
  std::map<std::int32_t, std::int64_t> committed_;
  std::map<std::int32_t, Owner> owners_;
  std::map<const BrokerSource*, std::uint64_t> members_;  // with the order of their joining
  std::set<const BrokerSource*> let_go_;
  std::function<void(const Publication&)> receive_;
  bool is_down_ = false;
  bool is_rebalancing_ = false;
  std::uint64_t rebalances_ = 0;
  std::uint64_t last_assignment_ = 0;
  std::uint64_t last_member_ = 0;
};

// A consumer, as src/kafka is one.
class BrokerSource final : public Source {
 public:
  BrokerSource(World& world, Broker& broker, DelayLedger& ledger, std::shared_ptr<Process> process,
               std::function<void()> wake);
  ~BrokerSource() override;

  // Before the process ends in order: commits and leaves.
  void close();

  // The process is dead.
  void vanish();

  // Called by the broker.
  void begin_revoke();
  void assign(const std::map<std::int32_t, std::pair<std::uint64_t, std::int64_t>>& partitions);  // assignment, offset

  bool has(std::int32_t partition) const { return assigned_.contains(partition); }

  // While overdue messages wait at its node, as the node says.
  std::function<bool()> is_behind = [] { return false; };

  std::vector<SourceRecord> take(std::size_t max, std::size_t max_bytes) override;
  void done(std::span<const RecordDone> records) override;
  bool is_assigned(const RecordDone& record) const override;
  void set_open(bool open) override { is_open_ = open; }
  SourceStatus status() const override { return {}; }

 private:
  struct Assigned {
    std::uint64_t assignment = 0;
    std::int64_t position = 0;  // the next to fetch
    std::int64_t stored = 0;    // all before it are done
    std::set<std::int64_t> done;
    std::set<std::int64_t> open;  // taken, and not done
    std::deque<SourceRecord> fetched;
  };

  void tick();
  void plan_tick(Instant when);
  void fetch();
  void commit();
  void lose();

  World& world_;
  Broker& broker_;
  DelayLedger& ledger_;
  const std::shared_ptr<Process> process_;
  const std::function<void()> wake_;
  const std::shared_ptr<bool> is_gone_ = std::make_shared<bool>(false);
  std::map<std::int32_t, Assigned> assigned_;
  bool is_open_ = true;
  bool is_member_ = false;
  std::optional<Instant> revoked_at_;
  Instant next_commit_;
};

// A producer, or a webhook.
class BrokerSink final : public Sink {
 public:
  BrokerSink(World& world, Broker& broker, DelayLedger& ledger, const DelayPlan& plan, std::shared_ptr<Process> process,
             const Uuid& node, bool is_for_letters, std::function<void()> wake);
  ~BrokerSink() override;

  // What the output refuses for good.
  std::function<bool(MessageNumber)> refuses = [](MessageNumber) { return false; };

  std::size_t publish(std::vector<Publication>& messages) override;
  std::vector<PublishReport> take_reports() override { return std::exchange(reports_, {}); }
  SinkStatus status() const override { return {}; }

 private:
  struct Open {
    Publication message;
    Instant give_up_at;
    bool is_appended = false;
    bool was_tried = false;
  };

  void plan_attempt(std::uint64_t ticket, Duration delay);
  void attempt(std::uint64_t ticket);
  void append(Open& open);
  void report(std::uint64_t ticket, PublishEnd end);

  World& world_;
  Broker& broker_;
  DelayLedger& ledger_;
  const DelayPlan& plan_;
  const std::shared_ptr<Process> process_;
  const Uuid node_;
  const bool is_for_letters_;
  const std::function<void()> wake_;
  const std::shared_ptr<bool> is_gone_ = std::make_shared<bool>(false);
  std::map<std::uint64_t, Open> open_;
  std::vector<PublishReport> reports_;
};

}  // namespace horae::sim
