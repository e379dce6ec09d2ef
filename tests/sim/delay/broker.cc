#include "tests/sim/delay/broker.h"

#include <algorithm>

#include "base/mutant.h"

namespace horae::sim {
namespace {

constexpr std::chrono::microseconds kTick = std::chrono::milliseconds(20);
constexpr Duration kCommitInterval = std::chrono::milliseconds(200);
constexpr Duration kPatience = std::chrono::seconds(2);  // in a revoke, for the records that were taken
constexpr std::size_t kFetchedAhead = 50;                // of each partition

}  // namespace

// ---- The topic ----

RecordPlace Broker::next_place() {
  const auto partition = static_cast<std::size_t>(world_.chance.between(0, plan_.partitions - 1));
  return {.partition = static_cast<std::int32_t>(partition),
          .offset = static_cast<std::int64_t>(logs_[partition].size())};
}

void Broker::append(SourceRecord record) {
  auto& log = logs_[static_cast<std::size_t>(record.place.partition)];
  log.push_back(std::move(record));
}

std::vector<std::int64_t> Broker::ends() const {
  std::vector<std::int64_t> all;
  for (const auto& log : logs_) all.push_back(static_cast<std::int64_t>(log.size()));
  return all;
}

std::vector<SourceRecord> Broker::fetch(std::int32_t partition, std::int64_t from, std::size_t max) const {
  const auto& log = logs_[static_cast<std::size_t>(partition)];
  const std::size_t begin = std::min(static_cast<std::size_t>(from), log.size());
  const std::size_t end = std::min(begin + max, log.size());
  return {log.begin() + static_cast<std::ptrdiff_t>(begin), log.begin() + static_cast<std::ptrdiff_t>(end)};
}

void Broker::publish(const Publication& message) {
  ledger_.published(number_in(message.headers), message);
  if (receive_) receive_(message);
}

void Broker::go_down(Duration length) {
  if (is_down_) return;
  world_.fault("the broker is down");
  is_down_ = true;
  world_.events.after(length, [this] { is_down_ = false; });
}

// ---- The group ----

void Broker::join(BrokerSource& source) {
  members_.emplace(&source, ++last_member_);
  rebalance();
}

void Broker::leave(BrokerSource& source) {
  if (members_.erase(&source) > 0) rebalance();
}

void Broker::vanish(BrokerSource& source) {
  members_.erase(&source);
  let_go_.erase(&source);
  world_.events.after(kSession, [this] { rebalance(); });
}

std::vector<BrokerSource*> Broker::in_order() const {
  std::vector<std::pair<std::uint64_t, BrokerSource*>> sorted;
  for (const auto& [source, number] : members_) sorted.emplace_back(number, const_cast<BrokerSource*>(source));
  std::ranges::sort(sorted);
  std::vector<BrokerSource*> all;
  for (const auto& [number, source] : sorted) all.push_back(source);
  return all;
}

void Broker::rebalance() {
  const std::uint64_t number = ++rebalances_;
  const bool goes_on = std::exchange(is_rebalancing_, true);
  if (!goes_on) let_go_.clear();
  for (BrokerSource* member : in_order()) {
    if (!let_go_.contains(member)) member->begin_revoke();
  }
  check_rebalance(number, world_.now() + std::chrono::ceil<std::chrono::microseconds>(kSession));
}

void Broker::on_let_go(BrokerSource& source) { let_go_.insert(&source); }

void Broker::check_rebalance(std::uint64_t number, Instant deadline) {
  if (number != rebalances_) return;
  const bool all = std::ranges::all_of(members_, [&](const auto& each) { return let_go_.contains(each.first); });
  if (!all && world_.now() < deadline) {
    return world_.events.after(kTick, [this, number, deadline] { check_rebalance(number, deadline); });
  }
  std::erase_if(members_, [&](const auto& each) { return !let_go_.contains(each.first); });
  is_rebalancing_ = false;
  assign();
}

void Broker::assign() {
  owners_.clear();
  const std::vector<BrokerSource*> members = in_order();
  if (members.empty()) return;
  std::map<BrokerSource*, std::map<std::int32_t, std::pair<std::uint64_t, std::int64_t>>> parts;
  for (std::int32_t partition = 0; partition < plan_.partitions; ++partition) {
    BrokerSource* member = members[static_cast<std::size_t>(partition) % members.size()];
    owners_[partition] = {.source = member, .assignment = ++last_assignment_};
    const bool is_new = !committed_.contains(partition);
    const std::int64_t end = ends()[static_cast<std::size_t>(partition)];
    const std::int64_t reset_to = HORAE_MUTANT("starts_at_latest") ? end : 0;
    parts[member][partition] = {last_assignment_, is_new ? reset_to : committed_[partition]};
  }
  for (BrokerSource* member : members) {
    if (parts.contains(member)) member->assign(parts.at(member));
  }
}

void Broker::commit(const BrokerSource& source, std::int32_t partition, std::uint64_t assignment, std::int64_t offset) {
  const auto owner = owners_.find(partition);
  const bool is_owner =
      owner != owners_.end() && owner->second.source == &source && owner->second.assignment == assignment;
  if (!is_owner || is_down_) return;
  committed_[partition] = offset;
  ledger_.committed(partition, offset);
}

// ---- The consumer ----

BrokerSource::BrokerSource(World& world, Broker& broker, DelayLedger& ledger, std::shared_ptr<Process> process,
                           std::function<void()> wake)
    : world_(world), broker_(broker), ledger_(ledger), process_(std::move(process)), wake_(std::move(wake)) {
  plan_tick(world_.now());
}

BrokerSource::~BrokerSource() { *is_gone_ = true; }

void BrokerSource::vanish() {
  assigned_.clear();
  if (std::exchange(is_member_, false)) broker_.vanish(*this);
}

void BrokerSource::plan_tick(Instant when) {
  world_.events.at(when, [this, gone = is_gone_] {
    if (!*gone && !process_->is_dead()) tick();
  });
}

void BrokerSource::tick() {
  if (process_->paused_until() > world_.now()) return plan_tick(process_->paused_until());
  plan_tick(world_.now() + kTick);
  if (broker_.is_down()) return;
  if (!is_member_ || !broker_.is_member(*this)) {
    lose();
    is_member_ = true;
    return broker_.join(*this);
  }
  if (revoked_at_) {
    const bool is_busy = std::ranges::any_of(assigned_, [](const auto& each) { return !each.second.open.empty(); });
    if (is_busy && world_.now() - *revoked_at_ < kPatience) return;
    commit();
    lose();
    return broker_.on_let_go(*this);
  }
  if (world_.now() >= next_commit_) commit();
  if (is_open_) fetch();
}

void BrokerSource::begin_revoke() {
  if (revoked_at_) return;
  revoked_at_ = world_.now();
  for (auto& [partition, each] : assigned_) each.fetched.clear();
}

void BrokerSource::assign(const std::map<std::int32_t, std::pair<std::uint64_t, std::int64_t>>& partitions) {
  lose();
  for (const auto& [partition, start] : partitions) {
    assigned_[partition] = {.assignment = start.first, .position = start.second, .stored = start.second};
  }
}

void BrokerSource::lose() {
  assigned_.clear();
  revoked_at_ = std::nullopt;
}

void BrokerSource::close() {
  if (!broker_.is_down()) commit();
  lose();
  if (std::exchange(is_member_, false)) broker_.leave(*this);
}

void BrokerSource::fetch() {
  bool has_new = false;
  for (auto& [partition, each] : assigned_) {
    if (each.fetched.size() >= kFetchedAhead) continue;
    for (SourceRecord& record : broker_.fetch(partition, each.position, kFetchedAhead)) {
      record.assignment = each.assignment;
      each.position = record.place.offset + 1;
      each.fetched.push_back(std::move(record));
      has_new = true;
    }
  }
  if (has_new) wake_();
}

void BrokerSource::commit() {
  next_commit_ = world_.now() + std::chrono::ceil<std::chrono::microseconds>(kCommitInterval);
  for (const auto& [partition, each] : assigned_) broker_.commit(*this, partition, each.assignment, each.stored);
}

std::vector<SourceRecord> BrokerSource::take(std::size_t max, std::size_t) {
  if (is_behind()) ledger_.violate("backlog", -1, "records are taken in while overdue messages wait");
  std::vector<SourceRecord> taken;
  for (auto& [partition, each] : assigned_) {
    while (taken.size() < max && !each.fetched.empty()) {
      taken.push_back(std::move(each.fetched.front()));
      each.fetched.pop_front();
      each.open.insert(taken.back().place.offset);
      ledger_.taken(taken.back().place);
    }
  }
  return taken;
}

void BrokerSource::done(std::span<const RecordDone> records) {
  for (const RecordDone& record : records) {
    const auto found = assigned_.find(record.place.partition);
    if (found == assigned_.end()) continue;
    Assigned& each = found->second;
    if (each.assignment != record.assignment) {
      if (HORAE_MUTANT("old_assignment_stores")) each.stored = record.place.offset + 1;
      continue;
    }
    each.open.erase(record.place.offset);
    each.done.insert(record.place.offset);
    if (HORAE_MUTANT("offset_skips_a_gap")) each.stored = std::max(each.stored, record.place.offset + 1);
    while (each.done.erase(each.stored) > 0) ++each.stored;
  }
}

bool BrokerSource::is_assigned(const RecordDone& record) const {
  const auto found = assigned_.find(record.place.partition);
  return found != assigned_.end() && found->second.assignment == record.assignment;
}

// ---- The producer ----

BrokerSink::BrokerSink(World& world, Broker& broker, DelayLedger& ledger, const DelayPlan& plan,
                       std::shared_ptr<Process> process, const Uuid& node, bool is_for_letters,
                       std::function<void()> wake)
    : world_(world),
      broker_(broker),
      ledger_(ledger),
      plan_(plan),
      process_(std::move(process)),
      node_(node),
      is_for_letters_(is_for_letters),
      wake_(std::move(wake)) {}

BrokerSink::~BrokerSink() { *is_gone_ = true; }

std::size_t BrokerSink::publish(std::vector<Publication>& messages) {
  std::size_t taken = messages.size();
  if (world_.in_chaos() && world_.chance.happens(plan_.sink_full)) {
    world_.fault("the queue of a producer is full");
    taken = static_cast<std::size_t>(world_.chance.between(0, static_cast<int>(taken)));
  }
  const Instant give_up = world_.now() + std::chrono::ceil<std::chrono::microseconds>(plan_.relay.hold_time / 2);
  for (std::size_t i = 0; i < taken; ++i) {
    const std::uint64_t ticket = messages[i].ticket;
    if (!is_for_letters_) ledger_.handed_over(number_in(messages[i].headers), node_);
    open_.emplace(ticket, Open{.message = std::move(messages[i]), .give_up_at = give_up});
    plan_attempt(ticket, world_.chance.around(std::chrono::milliseconds(2)));
  }
  return taken;
}

void BrokerSink::plan_attempt(std::uint64_t ticket, Duration delay) {
  world_.events.after(delay, [this, ticket, gone = is_gone_] {
    if (!*gone && !process_->is_dead()) attempt(ticket);
  });
}

void BrokerSink::attempt(std::uint64_t ticket) {
  if (process_->paused_until() > world_.now()) return plan_attempt(ticket, process_->paused_until() - world_.now());
  Open& open = open_.at(ticket);
  if (world_.now() >= open.give_up_at)
    return report(ticket, open.was_tried ? PublishEnd::kUnknown : PublishEnd::kFailed);
  const Duration again = world_.chance.between(std::chrono::milliseconds(100), std::chrono::milliseconds(300));
  if (broker_.is_down()) return plan_attempt(ticket, again);
  if (!is_for_letters_ && refuses(number_in(open.message.headers))) return report(ticket, PublishEnd::kRefused);
  if (world_.in_chaos() && world_.chance.happens(plan_.publish_fails) && !open.was_tried) {
    world_.fault("a publish fails");
    return report(ticket, PublishEnd::kFailed);
  }
  open.was_tried = true;
  append(open);
  if (world_.in_chaos() && world_.chance.happens(plan_.acknowledgement_lost)) {
    world_.fault("an acknowledgement is lost");
    const bool is_lost_for_good = world_.chance.happens(0.5);
    if (is_lost_for_good) open.give_up_at = world_.now() + std::chrono::milliseconds(50);
    return plan_attempt(ticket, again);
  }
  report(ticket, PublishEnd::kPublished);
}

void BrokerSink::append(Open& open) {
  if (std::exchange(open.is_appended, true)) return;  // the broker knows a producer's repetitions
  if (is_for_letters_) {
    ledger_.dead_lettered(number_in(open.message.headers));
  } else {
    broker_.publish(open.message);
  }
}

void BrokerSink::report(std::uint64_t ticket, PublishEnd end) {
  const auto open = open_.extract(ticket);
  if (end == PublishEnd::kUnknown && !is_for_letters_)
    ledger_.may_be_published(number_in(open.mapped().message.headers));
  reports_.push_back({.ticket = ticket, .end = end, .reason = end == PublishEnd::kPublished ? "" : "as simulated"});
  wake_();
}

}  // namespace horae::sim
