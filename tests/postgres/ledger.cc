#include "tests/postgres/ledger.h"

#include <algorithm>
#include <cstdlib>

namespace horae::testing {
namespace {

constexpr std::size_t kRecent = 2'000;
constexpr std::size_t kMostComplaints = 20;

}  // namespace

void Ledger::complain(const TaskId& id, const std::string& what) {
  if (complaints_.size() < kMostComplaints) complaints_.push_back(to_string(id) + ": " + what);
}

void Ledger::close(const TaskId& id, int attempt, const std::string& how) {
  const auto [before, is_new] = records_[id].closed.emplace(attempt, how);
  if (!is_new) complain(id, "attempt " + std::to_string(attempt) + " ended by " + before->second + " and by " + how);
}

void Ledger::end(const TaskId& id, State state) {
  Record& record = records_[id];
  if (record.end) complain(id, "has ended twice");
  record.end = state;
  ++ended_;
}

void Ledger::note(const Submission& asked, const SubmitOutcome& outcome) {
  const std::lock_guard lock(mutex_);
  if (outcome.kind != SubmitOutcome::Kind::kCreated) {
    ++counts_[outcome.kind == SubmitOutcome::Kind::kPresent ? "present" : "conflict"];
    if (!asked.task.key) complain(outcome.id, "was there before it was submitted");
    return;
  }
  ++counts_["created"];
  Record& record = records_[outcome.id];
  if (record.is_created) complain(outcome.id, "was created twice");
  record.is_created = true;
  record.queue = asked.task.queue;
  created_.push_back(outcome.id);
}

void Ledger::note(const std::string& owner, const LeasedTask& lease) {
  const std::lock_guard lock(mutex_);
  ++counts_["claimed"];
  const auto [before, is_new] = records_[lease.id].given.emplace(lease.attempt, owner);
  if (!is_new) {
    complain(lease.id,
             "attempt " + std::to_string(lease.attempt) + " was given to " + before->second + " and to " + owner);
  }
}

void Ledger::note(const Settlement& said, const SettleOutcome& outcome) {
  const std::lock_guard lock(mutex_);
  ++counts_[std::string(to_string(said.event)) + " " + std::string(to_string(outcome.verdict))];
  if (outcome.verdict != Verdict::kAccepted || said.event == Event::kHeartbeat) return;
  close(said.id, said.attempt, std::string(to_string(said.event)) + " of " + said.owner);
  if (is_terminal(*outcome.state)) end(said.id, *outcome.state);
}

void Ledger::note(const CancelWish& wish, const CancelOutcome& outcome) {
  const std::lock_guard lock(mutex_);
  ++counts_["cancel " + std::string(to_string(outcome.verdict))];
  if (outcome.verdict == Verdict::kAccepted) end(wish.id, State::kCancelled);
}

void Ledger::note(const ExpiredLease& lease) {
  const std::lock_guard lock(mutex_);
  ++counts_["expired"];
  close(lease.id, lease.attempt, "expiry");
  if (is_terminal(lease.state)) end(lease.id, lease.state);
}

void Ledger::note(const TaskId& asked, const std::optional<Task>& got) {
  const std::lock_guard lock(mutex_);
  ++counts_[got ? "got" : "got nothing"];
  if (!got && records_[asked].queue != brief_) complain(asked, "was nowhere");
}

void Ledger::note_held(const std::string& owner, const LeasedTask& lease) {
  const std::lock_guard lock(mutex_);
  ++counts_["held"];
  const auto& given = records_[lease.id].given;
  const auto found = given.find(lease.attempt);
  if (found != given.end() && found->second == owner) return;
  complain(lease.id, "attempt " + std::to_string(lease.attempt) + " is leased to " + owner + ", but was not given");
}

void Ledger::note_messages(std::ptrdiff_t more) {
  const std::lock_guard lock(mutex_);
  messages_ += more;
  counts_[more < 0 ? "messages gone" : "messages stored"] += static_cast<std::size_t>(std::abs(more));
}

std::ptrdiff_t Ledger::messages() const {
  const std::lock_guard lock(mutex_);
  return messages_;
}

void Ledger::note_wrong(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (complaints_.size() < kMostComplaints) complaints_.push_back(what);
}

void Ledger::note_purged(std::size_t tasks) {
  const std::lock_guard lock(mutex_);
  purged_ += tasks;
  counts_["purged"] += tasks;
}

void Ledger::note_failure(const std::string& call, const Error& error) {
  const std::lock_guard lock(mutex_);
  ++counts_["FAILED " + call];
  if (complaints_.size() < kMostComplaints) {
    complaints_.push_back(call + " failed: " + std::string(to_string(error.code)) + ": " + error.message);
  }
}

std::vector<TaskId> Ledger::pick(Random& random, std::size_t count) {
  const std::lock_guard lock(mutex_);
  std::vector<TaskId> picked;
  const std::size_t recent = std::min(kRecent, created_.size());
  for (std::size_t i = 0; recent > 0 && i < count; ++i) {
    picked.push_back(created_[created_.size() - 1 - random.below(recent)]);
  }
  return picked;
}

std::size_t Ledger::live() const {
  const std::lock_guard lock(mutex_);
  return created_.size() - std::min(ended_, created_.size());
}

void Ledger::compare(const TaskId& id, const Record& record, const Stand& stand) {
  const int newest = record.given.empty() ? 0 : record.given.rbegin()->first;
  if (stand.attempt != newest || newest != static_cast<int>(record.given.size())) {
    complain(id, "is at attempt " + std::to_string(stand.attempt) + ", but " + std::to_string(record.given.size()) +
                     " were given, the newest is " + std::to_string(newest));
  }
  if (record.end && *record.end != stand.state) {
    complain(id, "ended as " + std::string(to_string(*record.end)) + ", but is " + std::string(to_string(stand.state)));
  }
  if (!record.end && is_terminal(stand.state)) {
    complain(id, "is " + std::string(to_string(stand.state)) + ", and no answer said so");
  }
  if (stand.state == State::kRunning) {
    if (record.closed.contains(stand.attempt)) complain(id, "runs an attempt that has ended");
    if (newest > 0 && record.given.rbegin()->second != stand.owner) complain(id, "is leased to another owner");
  }
  const bool waits = stand.state == State::kReady || stand.state == State::kScheduled;
  if (waits && newest > 0 && !record.closed.contains(newest)) {
    complain(id, "waits again, but no answer said that its attempt has ended");
  }
}

std::vector<std::string> Ledger::complaints(const std::map<TaskId, Stand>& stands) {
  const std::lock_guard lock(mutex_);
  std::size_t vanished = 0;
  for (const auto& [id, record] : records_) {
    if (!record.is_created) complain(id, "was never created");
    const auto stand = stands.find(id);
    if (stand != stands.end()) {
      compare(id, record, stand->second);
      continue;
    }
    ++vanished;
    if (record.queue != brief_ || !record.end) complain(id, "has vanished");
  }
  for (const auto& [id, stand] : stands) {
    if (!records_.contains(id)) complain(id, "is there, and no answer said so");
  }
  if (vanished != purged_) {
    complaints_.push_back(std::to_string(vanished) + " tasks are gone, " + std::to_string(purged_) + " were purged");
  }
  return complaints_;
}

std::string Ledger::summary() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [what, count] : counts_) text += what + " " + std::to_string(count) + ", ";
  return text + "live " + std::to_string(created_.size() - std::min(ended_, created_.size()));
}

}  // namespace horae::testing
