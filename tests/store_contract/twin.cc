#include "tests/store_contract/twin.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "base/time_text.h"
#include "tests/store_contract/model_backend.h"
#include "tests/store_contract/model_store.h"

namespace horae::testing {
namespace {

using Call = Step::Call;

constexpr std::array kQueues = {"a", "b", "c"};
constexpr std::array kKeys = {"k0", "k1", "k2"};
constexpr std::array kOwners = {"worker-1", "worker-2", "worker-3"};
constexpr std::array kDelayQueues = {"d", "e"};
constexpr std::array kMessageIds = {"m0", "m1", "m2", "m3"};

template <typename Pool>
auto pick(const Pool& pool, unsigned choice) {
  return pool[choice % pool.size()];
}

// A client's own id.
Uuid client_id(unsigned choice) {
  Uuid id;
  id.bytes[0] = 0xc1;
  id.bytes[15] = static_cast<std::uint8_t>(choice % 4);
  return id;
}

Uuid node_id(unsigned choice) {
  Uuid id;
  id.bytes[15] = static_cast<std::uint8_t>(choice % 2 + 1);
  return id;
}

std::optional<std::string> some_text(unsigned choice) {
  if (choice % 3 == 0) return std::nullopt;
  return "\"text " + std::to_string(choice % 3) + "\"";
}

RetryPolicy policy_of(unsigned choice) {
  if (choice % 3 == 1) return {.kind = RetryPolicy::Kind::kFixed, .delay = 2s};
  if (choice % 3 == 2) return {.kind = RetryPolicy::Kind::kExponential, .delay = 1s, .cap = 10s, .jitter = 0.5};
  return {};
}

// The first line in which the two differ.
std::string difference(const std::string& said, const std::string& expected) {
  std::istringstream said_lines(said);
  std::istringstream expected_lines(expected);
  std::string one = "nothing more";
  std::string other = "nothing more";
  while (one == other) {
    if (!std::getline(said_lines, one)) one = "nothing more";
    if (!std::getline(expected_lines, other)) other = "nothing more";
  }
  return "the store says: " + one + "\nthe model says: " + other;
}

// Mostly none.
Scope scope_of_step(const Step& step) {
  static const Scope kSome = std::make_shared<const QueueScope>(scope_of({"a", "b*"}));
  return (step.a + step.b + step.c + step.d) % 4 == 0 ? kSome : nullptr;
}

constexpr std::array<Duration, 12> kWaits = {1us, 999'999us, 1s, 1s, 2s, 3s, 5s, 5s, 11s, 11s, 1h, 24h * 8};

rc::Gen<Step> any_step_of(rc::Gen<Call> call) {
  const auto number = rc::gen::inRange(0U, 240U);  // divisible by all small pools
  return rc::gen::construct<Step>(std::move(call), number, number, number, number);
}

}  // namespace

void showValue(const Step& step, std::ostream& out) {
  constexpr std::array kNames = {"submit",  "submit again", "submit batch",  "claim",          "claim batch",
                                 "settle",  "settle batch", "exchange",      "cancel",         "promote",
                                 "expire",  "extend",       "purge",         "configure",      "scheduler",
                                 "list",    "find",         "advance",       "enqueue",        "turn",
                                 "held by", "stuck, reset", "walk messages", "cancel message", "move message"};
  out << "{" << kNames[static_cast<std::size_t>(step.call)] << " " << step.a << ", " << step.b << ", " << step.c << ", "
      << step.d << "}";
}

rc::Gen<Step> any_step_with_tasks() {
  return any_step_of(rc::gen::weightedElement<Call>({{12, Call::kSubmit},
                                                     {3, Call::kSubmitAgain},
                                                     {3, Call::kSubmitBatch},
                                                     {16, Call::kClaim},
                                                     {3, Call::kClaimBatch},
                                                     {26, Call::kSettle},
                                                     {6, Call::kSettleBatch},
                                                     {10, Call::kExchange},
                                                     {5, Call::kCancel},
                                                     {8, Call::kPromote},
                                                     {8, Call::kExpire},
                                                     {4, Call::kExtend},
                                                     {2, Call::kPurge},
                                                     {3, Call::kConfigure},
                                                     {1, Call::kScheduler},
                                                     {5, Call::kList},
                                                     {1, Call::kFind},
                                                     {16, Call::kAdvance}}));
}

rc::Gen<Step> any_step_with_messages() {
  return any_step_of(rc::gen::weightedElement<Call>({{6, Call::kEnqueue},
                                                     {8, Call::kTurn},
                                                     {1, Call::kHeldBy},
                                                     {4, Call::kStuckAndReset},
                                                     {1, Call::kWalkMessages},
                                                     {1, Call::kCancelMessage},
                                                     {2, Call::kMoveMessage},
                                                     {6, Call::kAdvance}}));
}

Twin::Twin(std::unique_ptr<Backend> store) : store_(std::move(store)), model_(make_model_backend()) {
  const Instant start = store_->store().tasks().look()->now;
  model_->step_clock(start - model_->store().tasks().look()->now);
  node_clock_.step_wall(start - node_clock_.wall_now());
}

Instant Twin::now() { return node_clock_.wall_now(); }

template <typename Call>
auto Twin::call_both(Call call) {
  const auto said = call(store());
  const auto expected = call(model());
  if (describe(said) != describe(expected)) RC_FAIL(difference(describe(said), describe(expected)));
  return said;
}

// ---- What a step means ----

TaskId Twin::task_of(unsigned choice) {
  if (known_.empty() || choice % 16 == 15) return client_id(choice / 16);
  // The newest tasks are the ones that something happens to.
  return known_[known_.size() - 1 - (choice / 2) % std::min<std::size_t>(known_.size(), 8)];
}

Submission Twin::submission_of(const Step& step) {
  NewTask task{.queue = pick(kQueues, step.a), .spec = "{}", .retry = policy_of(step.d / 8)};
  task.priority = pick(std::array{50, 51, 52, 53, 55, 0, 255}, step.b);
  if (step.a / 3 % 5 == 0) task.id = client_id(step.b);
  if (step.a / 15 % 4 == 0) task.key = pick(kKeys, step.b / 7);
  if (step.c % 3 == 1) task.run_at = now() + std::chrono::seconds(step.c / 3 % 4);
  if (step.c % 3 == 2) task.run_at = now() - 1s;
  if (step.d % 4 == 0) task.recurring = 2s;
  task.max_attempts = static_cast<int>(step.d / 24 % 3);
  return {.task = std::move(task), .new_id = ids_.next()};
}

ClaimWish Twin::wish_of(const Step& step) {
  ClaimWish wish{.owner = pick(kOwners, step.a), .max = static_cast<int>(step.c % 3) + 1, .token = ids_.next()};
  for (std::size_t i = 0; i < kQueues.size(); ++i) {
    if (((step.b % 7 + 1) >> i) % 2 == 1) wish.queues.push_back(kQueues[i]);
  }
  wish.lease = pick(std::array<Duration, 3>{10s, 2s, 1min}, step.d);
  if (step.d / 3 % 3 == 0) serve_once(wish, step.d / 9);
  return wish;
}

// One of few tokens, which change as tasks come, each of one owner.
void Twin::serve_once(ClaimWish& wish, unsigned choice) {
  wish.once = true;
  wish.token = {};
  wish.token.bytes[0] = 0x0c;
  wish.token.bytes[14] = static_cast<std::uint8_t>(known_.size() / 4);
  wish.token.bytes[15] = static_cast<std::uint8_t>(choice % kOwners.size());
  wish.owner = pick(kOwners, choice);
}

// Mostly the owner of the newest attempt; sometimes another owner, or another attempt.
Settlement Twin::settlement_of(const Step& step) {
  constexpr std::array kEvents = {Event::kHeartbeat, Event::kHeartbeat, Event::kComplete, Event::kComplete,
                                  Event::kAbort,     Event::kAbort,     Event::kYield,    Event::kRelease};
  Settlement said{.event = pick(kEvents, step.b), .id = task_of(step.a), .owner = pick(kOwners, step.d)};
  const auto task = model().tasks().get(std::vector{said.id})->at(0);
  said.attempt = task ? task->attempt : 1;
  if (const auto owner = last_owner_.find(said.id); owner != last_owner_.end() && step.c % 8 != 0) {
    said.owner = owner->second;
  }
  if (step.c % 8 == 1) --said.attempt;
  if (step.c % 8 == 2 && step.d % 3 == 0) ++said.attempt;
  if (step.c % 16 >= 8 && numbers_.contains(said.id)) said.number = numbers_.at(said.id);
  said.lease = pick(std::array<std::optional<Duration>, 4>{10s, 2s, 1min, std::nullopt}, step.c / 8);
  if (step.d % 2 == 0) said.progress = pick(std::array{0.25, 0.5}, step.d / 4);
  said.checkpoint = some_text(step.d / 2);
  said.result = some_text(step.d / 3);
  if (said.event == Event::kAbort) said.errors = errors_of("failed " + std::to_string(step.d % 2));
  said.chance = pick(std::array{0.0, 0.5}, step.d);
  said.scope = scope_of_step(step);
  return said;
}

ListQuery Twin::query_of(const Step& step) {
  ListQuery query{.kind = static_cast<ListKind>(step.a % 5), .limit = static_cast<int>(step.b % 4) + 1};
  if (step.b / 4 % 2 == 0) query.queue = pick(kQueues, step.c);
  if (query.kind == ListKind::kAll && step.c / 3 % 2 == 0) query.states = {pick(kAllStates, step.d), State::kReady};
  if (query.kind == ListKind::kFinished && step.c / 3 % 2 == 0) query.states = {State::kAborted, State::kCancelled};
  if (step.d % 4 == 0) query.created_from = now() - 5s;
  if (step.d % 4 <= 1) query.created_before = now() - 1s;
  if (query.kind == ListKind::kRunning || step.d % 4 == 0) {
    if (step.d / 4 % 2 == 0) query.owner = pick(kOwners, step.d / 8);
  }
  query.scope = scope_of_step(step);
  return query;
}

// ---- Calls that need more than comparing ----

void Twin::submit(const std::vector<Submission>& submissions) {
  const auto outcomes = call_both([&](Store& each) { return each.tasks().submit(submissions); });
  note_submitted(submissions, *outcomes);
}

void Twin::note_submitted(const std::vector<Submission>& submissions, const std::vector<SubmitOutcome>& outcomes) {
  std::map<TaskId, std::int64_t> created;
  for (const SubmitOutcome& outcome : outcomes) {
    if (outcome.kind == SubmitOutcome::Kind::kCreated) {
      RC_ASSERT(outcome.number > newest_number_);
      created[outcome.id] = outcome.number;
      numbers_[outcome.id] = outcome.number;
      last_owner_.erase(outcome.id);
      std::erase(known_, outcome.id);
      known_.push_back(outcome.id);
    }
    RC_ASSERT(outcome.number == numbers_.at(outcome.id));
  }
  for (const auto& [id, number] : created) newest_number_ = std::max(newest_number_, number);
  dynamic_cast<ModelStore&>(model()).model().renumber(created);
  submitted_.insert(submitted_.end(), submissions.begin(), submissions.end());
}

void Twin::check_numbers(const std::vector<LeasedTask>& leased) {
  for (const LeasedTask& each : leased) RC_ASSERT(each.number == numbers_.at(each.id));
}

void Twin::claim(const std::vector<ClaimWish>& wishes) {
  const auto taken = call_both([&](Store& each) { return each.tasks().claim(wishes); });
  note_claimed(wishes, *taken);
}

void Twin::note_claimed(const std::vector<ClaimWish>& wishes, const std::vector<ClaimOutcome>& taken) {
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    check_numbers(taken[i].tasks);
    for (const LeasedTask& each : taken[i].tasks) last_owner_[each.id] = wishes[i].owner;
    tokens_.insert(wishes[i].token);
  }
}

// One submission at most: within a batch the numbers, which decide between equals, are the store's choice.
void Twin::exchange(const std::vector<Settlement>& settlements, const std::vector<Submission>& submissions,
                    const std::vector<ClaimWish>& wishes) {
  const auto outcome = call_both([&](Store& each) {
    return each.tasks().exchange({.settlements = settlements, .submissions = submissions, .wishes = wishes});
  });
  note_submitted(submissions, outcome->submitted);
  note_claimed(wishes, outcome->leased);
}

void Twin::settle(const std::vector<Settlement>& settlements) {
  (void)call_both([&](Store& each) { return each.tasks().settle(settlements); });
}

// The lists are compared whole, because a store may cut its pages as it likes.
void Twin::compare_list(const ListQuery& query) {
  (void)call_both([&](Store& each) { return all_pages(each.tasks(), query); });
}

// The counts of finished tasks are compared only if the store says that they are not older than now.
void Twin::compare_queues() {
  const Instant as_of = store().queues().queues()->as_of;
  (void)call_both([&](Store& each) {
    QueueList list = value_of(each.queues().queues());
    if (as_of < now()) {
      for (QueueInfo& info : list.queues) info.completed = info.aborted = info.cancelled = 0;
    }
    return list.queues;
  });
}

void Twin::compare_all() {
  std::vector<TaskId> ids = known_;
  for (unsigned i = 0; i < 4; ++i) ids.push_back(client_id(i));
  (void)call_both([&](Store& each) { return each.tasks().get(ids); });
  (void)call_both([&](Store& each) { return each.tasks().look(); });
  for (const Uuid& token : tokens_) (void)call_both([&](Store& each) { return each.tasks().leases_of(token); });
  const std::vector<Uuid> tokens(tokens_.begin(), tokens_.end());
  (void)call_both([&](Store& each) { return each.tasks().have_served(tokens); });
  for (unsigned kind = 0; kind < 5; ++kind) compare_list({.kind = static_cast<ListKind>(kind), .limit = 3});
  compare_queues();
  for (const char* queue : kDelayQueues) {
    (void)call_both([&](Store& each) {
      return each.messages().get(queue, std::vector<std::string>(kMessageIds.begin(), kMessageIds.end()));
    });
    (void)call_both([&](Store& each) { return each.messages().list({.delay_queue = queue}); });
    (void)call_both([&](Store& each) { return each.messages().counts(queue, 1s, 100); });
  }
}

// ---- Steps ----

void Twin::apply(const Step& step) {
  if (step.call == Call::kAdvance) {
    const Duration by = pick(kWaits, step.a);
    store_->advance(by);
    model_->advance(by);
    node_clock_.advance(by);
  } else if (step.call >= Call::kEnqueue) {
    apply_to_messages(step);
  } else {
    apply_to_tasks(step);
  }
}

void Twin::apply_to_tasks(const Step& step) {
  const std::size_t max = step.b % 4 == 0 ? step.c % 3 + 1 : kMaxBatch;
  const auto other = [&](unsigned add) {
    return Step{step.call, step.a + add, step.b + 3 * add, step.c + 5 * add, step.d + 7 * add};
  };
  switch (step.call) {
    case Call::kSubmit:
      return submit({submission_of(step)});
    case Call::kSubmitAgain:
      if (!submitted_.empty()) submit({submitted_[submitted_.size() - 1 - step.a % submitted_.size()]});
      return;
    case Call::kSubmitBatch:
      return submit({submission_of(step), submission_of(step), submission_of(other(1)), submission_of(other(2))});
    case Call::kClaim:
      return claim({wish_of(step)});
    case Call::kClaimBatch:
      return claim({wish_of(step), wish_of(other(1)), wish_of(other(2))});
    case Call::kSettle:
      return settle({settlement_of(step)});
    case Call::kSettleBatch:
      return settle({settlement_of(step), settlement_of(other(1)), settlement_of(step), settlement_of(other(2))});
    case Call::kExchange: {
      std::vector<Settlement> settlements;
      if (step.a % 4 != 0) settlements.push_back(settlement_of(step));
      if (step.a % 4 == 3) settlements.push_back(settlement_of(other(1)));
      std::vector<Submission> submissions;
      if (step.b % 4 != 0) submissions.push_back(submission_of(other(2)));
      std::vector<ClaimWish> wishes;
      if (step.c % 4 != 0) wishes.push_back(wish_of(other(3)));
      if (step.c % 4 == 3) wishes.push_back(wish_of(other(4)));
      return exchange(settlements, submissions, wishes);
    }
    case Call::kCancel: {
      const std::vector<CancelWish> wishes = {{task_of(step.a), some_text(step.b), scope_of_step(step)},
                                              {task_of(step.c), some_text(1), nullptr}};
      (void)call_both([&](Store& each) { return each.tasks().cancel(wishes); });
      return;
    }
    case Call::kPromote:
      (void)call_both([&](Store& each) { return each.tasks().promote_due(max); });
      return;
    case Call::kExpire: {
      const auto seen = step.a % 8 == 0 ? std::optional(now() - 1s) : model().tasks().look()->stamp;
      const Duration slack = pick(std::array<Duration, 4>{24h * 365, 24h * 365, 5s, 0s}, step.d);
      (void)call_both(
          [&](Store& each) { return each.tasks().expire_leases({.seen = seen, .slack = slack, .max = max}); });
      return;
    }
    case Call::kExtend: {
      const auto seen = step.a % 8 == 0 ? std::nullopt : model().tasks().look()->stamp;
      (void)call_both([&](Store& each) { return each.tasks().extend_leases(seen); });
      return;
    }
    case Call::kPurge:
      // Which ones a purge with a small maximum takes is the store's choice, so it takes all.
      (void)call_both([&](Store& each) { return each.tasks().purge(kMaxBatch); });
      return;
    case Call::kConfigure: {
      QueueChange change;
      if (step.b % 2 == 0) change.paused = step.b % 4 == 0;
      if (step.c % 2 == 0) change.ageing_rate = pick(std::array{0, 1, 5, 100, -1}, step.c / 2);
      if (step.d % 2 == 0) change.retention = pick(std::array<Duration, 3>{0s, 3s, 24h * 7}, step.d / 2);
      (void)call_both([&](Store& each) { return each.queues().configure(pick(kQueues, step.a), change); });
      return;
    }
    case Call::kScheduler: {
      const bool running = step.a % 3 != 0;
      (void)call_both([&](Store& each) { return each.queues().set_scheduler_running(running); });
      (void)call_both([&](Store& each) { return each.queues().scheduler_running(); });
      (void)call_both(
          [&](Store& each) { return each.queues().closed(std::vector<std::string>(kQueues.begin(), kQueues.end())); });
      return;
    }
    case Call::kFind:
      (void)call_both([&](Store& each) { return each.tasks().find(pick(kQueues, step.a), pick(kKeys, step.b)); });
      return;
    default:
      return compare_list(query_of(step));
  }
}

// Places come again, as records that are read again.
void Twin::enqueue(const Step& step) {
  std::vector<NewMessage> batch;
  for (unsigned i = 0; i < step.c % 3 + 1; ++i) {
    Message message{.id = pick(kMessageIds, step.b + i * (step.c % 2)),
                    .deadline = now() + std::chrono::milliseconds(700) * ((step.d + i) % 8) - 1s};
    if (i == 0) message.value = some_text(step.d);
    if (i == 1) message.headers = {{"h", message.id}, {"h", std::nullopt}};
    std::optional<RecordPlace> place;
    if (step.d % 4 != 0)
      place = RecordPlace{.partition = static_cast<std::int32_t>(step.a % 2),
                          .offset = step.d % 3 == 0 ? offset_ : ++offset_};
    batch.push_back({std::move(message), place});
  }
  const EnqueueWish wish{.delay_queue = pick(kDelayQueues, step.a),
                         .node = node_id(step.c / 3),
                         .advance = pick(std::array<Duration, 2>{0s, 200ms}, step.c / 5),
                         .horizon = pick(std::array<Duration, 3>{0s, 500ms, 2s}, step.b / 4),
                         .ready = {.max = step.d % 3, .max_bytes = step.d % 40},
                         .stores_late = step.a / 2 % 3 == 0,
                         .messages = batch};
  const auto outcome = call_both([&](Store& each) { return each.messages().enqueue(wish); });
  for (const ReadiedMessage& each : outcome->readied) readied_.push_back(each.readying);
}

void Twin::turn(const Step& step) {
  std::vector<Readying> fired;
  std::vector<GiveBack> failed;
  if (!readied_.empty() && step.b % 3 != 0) {
    fired = {readied_[step.b / 3 % readied_.size()], readied_.back()};
    if (step.d % 2 == 0) fired.push_back(fired.front());
  }
  if (!readied_.empty() && step.c % 3 == 0) {
    const Duration delay = pick(std::array<Duration, 3>{0s, 300ms, 3s}, step.d);
    failed.push_back({readied_[step.c / 3 % readied_.size()], delay, step.d / 3 % 2 == 0});
  }
  const TurnWish wish{.delay_queue = pick(kDelayQueues, step.a),
                      .node = node_id(step.c),
                      .advance = pick(std::array<Duration, 2>{0s, 200ms}, step.b),
                      .horizon = pick(std::array<Duration, 2>{0s, 1s}, step.d),
                      .fired = fired,
                      .failed = failed,
                      .ready = {.max = step.d % 4, .max_bytes = step.d % 50}};
  const auto outcome = call_both([&](Store& each) { return each.messages().turn(wish); });
  for (const ReadiedMessage& each : outcome->readied) readied_.push_back(each.readying);
}

void Twin::walk_messages(const Step& step) {
  MessageQuery query{.delay_queue = pick(kDelayQueues, step.a), .limit = step.b % 3 + 1, .max_bytes = step.c % 60};
  if (step.d % 3 != 0) query.state = step.d % 3 == 1 ? MessageState::kWaiting : MessageState::kReady;
  do {
    const auto page = call_both([&](Store& each) { return each.messages().list(query); });
    query.after = page->next;
  } while (query.after);
}

void Twin::apply_to_messages(const Step& step) {
  const std::string queue = pick(kDelayQueues, step.a);
  const std::string id = pick(kMessageIds, step.b);
  switch (step.call) {
    case Call::kEnqueue:
      return enqueue(step);
    case Call::kTurn:
      return turn(step);
    case Call::kHeldBy: {
      HeldWish wish{.delay_queue = queue,
                    .node = node_id(step.b),
                    .horizon = 1s,
                    .limits = {.max = step.c % 3, .max_bytes = step.d % 50}};
      do {
        const auto page = call_both([&](Store& each) { return each.messages().held_by(wish); });
        wish.after = page->next;
      } while (wish.after);
      return;
    }
    case Call::kStuckAndReset: {
      StuckWish wish{.delay_queue = queue,
                     .hold = pick(std::array<Duration, 2>{1s, 3s}, step.b),
                     .advance = pick(std::array<Duration, 2>{0s, 1s}, step.c),
                     .max = step.d % 3};
      do {
        const auto page = call_both([&](Store& each) { return each.messages().stuck(wish); });
        (void)call_both([&](Store& each) { return each.messages().reset(queue, page->messages); });
        wish.after = page->next;
      } while (wish.after);
      return;
    }
    case Call::kWalkMessages:
      return walk_messages(step);
    case Call::kCancelMessage:
      (void)call_both([&](Store& each) { return each.messages().cancel(queue, std::vector{id}); });
      return;
    default: {
      const std::vector<MoveWish> wishes = {{id, now() + std::chrono::seconds(step.c % 5)}};
      (void)call_both([&](Store& each) { return each.messages().move(queue, wishes); });
    }
  }
}

}  // namespace horae::testing
