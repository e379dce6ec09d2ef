#include "stores/postgres/tasks/submit.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "stores/postgres/connection/statements.h"
#include "stores/postgres/layout/look_up.h"
#include "stores/postgres/layout/places.h"
#include "stores/postgres/tasks/insertion.h"

namespace horae::postgres {
namespace {

constexpr int kMostTries = 10;

const Sql kGuardKeys = statement("guard_keys", Changes::kAny);
const Sql kGuardIds = statement("guard_ids", Changes::kAny);
const Sql kFindKeys = statement("find_keys");
const Sql kFindRequests = statement("find_requests");

// Tasks that begin alike get numbers of the same day that follow one another. Otherwise the order of the batch stays.
bool comes_before(const NewEntry& first, const NewEntry& second) {
  if (first.day != second.day) return first.day < second.day;
  if (first.queue != second.queue) return first.queue < second.queue;
  const NewTask& a = first.submission->task;
  const NewTask& b = second.submission->task;
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.run_at != b.run_at) return a.run_at < b.run_at;
  if (a.recurring != b.recurring) return a.recurring < b.recurring;
  return a.max_attempts < b.max_attempts;
}

// A stored task, as far as a repeated submission is compared with it.
struct Present {
  TaskId id;
  std::string digest;
};

std::unordered_map<std::int64_t, Present> find_present(Transaction& transaction,
                                                       const std::vector<std::int64_t>& numbers) {
  std::unordered_map<std::int64_t, Present> present;
  if (numbers.empty()) return present;
  for (const Row row : transaction.run(kFindRequests, Params::of(numbers))) {
    std::string digest = row.text(13);
    if (row.is_null(13)) {
      // Horae made the id, and there is no key: the row holds all of the request.
      NewTask request{.queue = row.text(2),
                      .priority = row.small(3),
                      .spec = row.text(4),
                      .run_at = row.optional_instant(5),
                      .recurring = row.optional_duration(6),
                      .max_attempts = row.small(7)};
      if (!row.is_null(8)) {
        request.retry = {static_cast<RetryPolicy::Kind>(row.small(8)), row.duration(9), row.real(10), row.duration(11),
                         row.real(12)};
      }
      digest = request_digest(request);
    }
    present[row.integer(0)] = {row.uuid(1), std::move(digest)};
  }
  return present;
}

// The tasks that have the ids or keys of a batch already.
struct Stored {
  std::vector<std::optional<std::int64_t>> numbers;  // of each submission
  std::unordered_map<std::int64_t, Present> tasks;
  Standings standings;
};

Stored find_stored(Transaction& transaction, std::span<const Submission> submissions, const QueueNumbers& queues) {
  std::vector<TaskId> ids;
  std::vector<std::int32_t> key_queues;
  std::vector<std::string_view> keys;
  std::vector<std::size_t> key_places;
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const NewTask& task = submissions[i].task;
    ids.push_back(submissions[i].id());
    const auto queue = queues.find(task.queue);
    if (!task.key || queue == queues.end()) continue;
    key_queues.push_back(queue->second);
    keys.push_back(*task.key);
    key_places.push_back(i);
  }
  Stored stored{.numbers = find_numbers(transaction, ids), .tasks = {}, .standings = {}};
  // The key takes precedence over the id: it names the task that the client means.
  if (!keys.empty()) {
    for (const Row row : transaction.run(kFindKeys, Params::of(key_queues, keys))) {
      stored.numbers[key_places[static_cast<std::size_t>(row.integer(0) - 1)]] = row.integer(1);
    }
  }
  std::vector<std::int64_t> found;
  for (const auto& number : stored.numbers) {
    if (number) found.push_back(*number);
  }
  stored.tasks = find_present(transaction, found);
  stored.standings = find_standings(transaction, found);
  return stored;
}

// Those of tasks that are not stored are left as they are, except where there may be no further queue. Nothing if a
// task was purged meanwhile.
std::optional<std::vector<SubmitOutcome>> outcomes_of_stored(std::span<const Submission> submissions,
                                                             const QueueNumbers& queues, const Stored& stored) {
  std::vector<SubmitOutcome> outcomes(submissions.size());
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const Submission& each = submissions[i];
    if (!stored.numbers[i]) {
      if (!queues.contains(each.task.queue)) outcomes[i] = {SubmitOutcome::Kind::kOverLimit, each.id()};
      continue;
    }
    const std::int64_t number = *stored.numbers[i];
    const auto task = stored.tasks.find(number);
    if (task == stored.tasks.end()) return std::nullopt;
    const bool same = task->second.digest == request_digest(each.task);
    const auto standing = stored.standings.find(number);
    outcomes[i] = {same ? SubmitOutcome::Kind::kPresent : SubmitOutcome::Kind::kConflict, task->second.id, number,
                   standing == stored.standings.end() ? Standing().state : standing->second.state};
  }
  return outcomes;
}

// There is room for a queue, so those that were not made are beyond the allowance of their caller.
void name_allowances(std::span<const Submission> submissions, std::vector<SubmitOutcome>& outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const bool was_refused = outcomes[i].kind == SubmitOutcome::Kind::kOverLimit;
    if (was_refused && submissions[i].allowance) outcomes[i].kind = SubmitOutcome::Kind::kOverAllowance;
  }
}

// Reserves the keys, and the ids that need it. Waits for transactions that reserve the same ones. False after a
// failure, or if one of them was reserved meanwhile.
bool insert_guards(Transaction& transaction, const std::vector<NewEntry>& entries) {
  std::vector<std::int32_t> queues;
  std::vector<std::string_view> keys;
  std::vector<std::int64_t> key_numbers, id_numbers;
  std::vector<TaskId> ids;
  std::vector<std::string> digests;
  digests.reserve(entries.size());  // the blobs point into it
  std::vector<Blob> key_digests, id_digests;
  for (const NewEntry& entry : entries) {
    const NewTask& task = entry.submission->task;
    if (!task.key && !entry.is_guarded) continue;
    digests.push_back(request_digest(task));
    if (task.key) {
      queues.push_back(entry.queue);
      keys.push_back(*task.key);
      key_numbers.push_back(entry.number);
      key_digests.push_back({digests.back()});
    }
    if (entry.is_guarded) {
      ids.push_back(entry.submission->id());
      id_numbers.push_back(entry.number);
      id_digests.push_back({digests.back()});
    }
  }
  if (!keys.empty()) {
    const Rows inserted = transaction.run(kGuardKeys, Params::of(queues, keys, key_numbers, key_digests));
    if (transaction.failed() || inserted.affected() < keys.size()) return false;
  }
  if (!ids.empty()) {
    const Rows inserted = transaction.run(kGuardIds, Params::of(ids, id_numbers, id_digests));
    if (transaction.failed() || inserted.affected() < ids.size()) return false;
  }
  return true;
}

}  // namespace

Result<std::vector<SubmitOutcome>> Submitter::submit(std::span<const Submission> submissions) {
  if (submissions.empty()) return std::vector<SubmitOutcome>();
  auto entries = prepare_new(submissions);
  if (!entries.ok()) return entries.error();
  if (*entries) {
    auto outcomes = insert_new(submissions, **entries);
    if (!outcomes.ok()) return outcomes.error();
    if (*outcomes) return std::move(**outcomes);
  }

  // In pieces that hold no id and no key twice: a later piece sees what an earlier one has stored.
  std::vector<SubmitOutcome> outcomes;
  std::size_t begin = 0;
  while (begin < submissions.size()) {
    std::unordered_set<TaskId> ids;
    std::set<std::pair<std::string_view, std::string_view>> keys;
    std::size_t end = begin;
    for (; end < submissions.size(); ++end) {
      const Submission& each = submissions[end];
      if (ids.contains(each.id()) || (each.task.key && keys.contains({each.task.queue, *each.task.key}))) break;
      ids.insert(each.id());
      if (each.task.key) keys.insert({each.task.queue, *each.task.key});
    }
    auto piece = insert_checking_duplicates(submissions.subspan(begin, end - begin));
    if (!piece.ok()) return piece.error();
    std::ranges::move(*piece, std::back_inserter(outcomes));
    begin = end;
  }
  return outcomes;
}

bool Submitter::are_new(std::span<const Submission> submissions, const Queues& queues) {
  const bool all_new = std::ranges::all_of(submissions, [&](const Submission& each) {
    return !each.task.id && !each.task.key && queues.contains(each.task.queue);
  });
  if (!all_new) return false;
  // Ids that were made one after the other ascend, so that none comes twice.
  const auto stays = [](const Submission& a, const Submission& b) { return a.new_id >= b.new_id; };
  if (std::ranges::adjacent_find(submissions, stays) == submissions.end()) return true;
  std::unordered_set<TaskId> ids;
  return std::ranges::all_of(submissions, [&](const Submission& each) { return ids.insert(each.new_id).second; });
}

// Takes numbers for all, in one piece for each day: a task whose id has an open day gets a number of that day, any
// other one a number of today, and its id is guarded.
Result<std::vector<NewEntry>> Submitter::number(std::span<const Submission> submissions, const Queues& queues) {
  std::vector<std::optional<std::int64_t>> days(submissions.size());  // of the ids
  std::map<std::int64_t, bool> is_open;
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    if (!submissions[i].task.id) days[i] = day_in(submissions[i].new_id);
    if (days[i]) is_open[*days[i]] = false;
  }
  const auto check_days = [&] {
    for (auto& [day, open] : is_open) open = days_.is_open(day);
    return std::ranges::all_of(is_open, [](const auto& day) { return day.second; });
  };
  // A day that is not open may be a new one.
  if (!check_days() || days_.today() == 0) {
    if (auto refreshed = days_.refresh(); !refreshed.ok()) return refreshed.error();
    (void)check_days();
  }
  const std::int64_t today = days_.today();
  std::vector<NewEntry> entries;
  entries.reserve(submissions.size());
  std::map<std::int64_t, std::int64_t> counts;
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const auto queue = queues.find(submissions[i].task.queue);
    if (queue == queues.end()) continue;
    const bool has_day = days[i] && is_open[*days[i]];
    entries.push_back({.submission = &submissions[i],
                       .place = i,
                       .queue = queue->second,
                       .day = has_day ? *days[i] : today,
                       .is_guarded = !has_day});
    ++counts[entries.back().day];
  }
  std::ranges::stable_sort(entries, comes_before);
  auto entry = entries.begin();
  for (const auto& [day, count] : counts) {
    const auto numbers = days_.take(day, count);
    if (!numbers.ok()) return numbers.error();
    for (std::int64_t number = numbers->lo; number <= numbers->hi; ++number) (entry++)->number = number;
  }
  return entries;
}

Result<std::optional<std::vector<NewEntry>>> Submitter::prepare_new(std::span<const Submission> submissions) {
  using Answer = std::optional<std::vector<NewEntry>>;
  std::set<std::string> names;
  for (const Submission& each : submissions) names.insert(each.task.queue);
  const auto queues = names_.find({names.begin(), names.end()});
  if (!queues.ok()) return queues.error();
  if (!are_new(submissions, *queues)) return Answer();
  auto entries = number(submissions, *queues);
  if (!entries.ok()) return entries.error();
  if (std::ranges::any_of(*entries, &NewEntry::is_guarded)) return Answer();
  return Answer(std::move(*entries));
}

Result<std::vector<NewEntry>> Submitter::prepare_any(std::span<const Submission> submissions) {
  if (submissions.empty()) return std::vector<NewEntry>();
  const auto queues = make_queues(submissions);
  if (!queues.ok()) return queues.error();
  return number(submissions, queues->numbers);
}

bool Submitter::guard(Transaction& transaction, const std::vector<NewEntry>& entries) {
  return insert_guards(transaction, entries);
}

Result<void> Submitter::prepare_again(const Failure& failure, std::span<const Submission> submissions) {
  note_refusal(failure, submissions);
  days_.forget();
  return days_.refresh();
}

// A queue that has ended since its number was read is found again, or made again, by the next look.
void Submitter::note_refusal(const Failure& failure, std::span<const Submission> submissions) {
  if (!Insertion::has_lost_its_queue(failure)) return;
  std::vector<std::string> names;
  for (const Submission& each : submissions) names.push_back(each.task.queue);
  names_.forget(names);
}

Result<std::optional<std::vector<SubmitOutcome>>> Submitter::insert_new(std::span<const Submission> submissions,
                                                                        const std::vector<NewEntry>& entries) {
  using Answer = std::optional<std::vector<SubmitOutcome>>;
  const auto body = [&](Transaction& transaction) -> Result<Answer> {
    const Insertion insertion(transaction, entries);
    if (auto done = transaction.commit(); !done.ok()) {
      note_refusal(*transaction.failure(), submissions);
      if (Insertion::was_refused(*transaction.failure())) return Answer();
      return done.error();
    }
    if (auto stored = insertion.check(); !stored.ok()) return stored.error();
    insertion.remember(known_, floors_);
    return Answer(insertion.outcomes());
  };
  return pool_.transact_in_one_trip<Answer>(body, Repeat::kAlways);  // by the ids
}

// A queue is made only for a task that will be stored in it.
Result<MadeQueues> Submitter::make_queues(std::span<const Submission> submissions) {
  std::set<std::string> all;
  for (const Submission& each : submissions) all.insert(each.task.queue);
  auto queues = names_.find({all.begin(), all.end()});
  if (!queues.ok()) return queues.error();
  if (queues->size() == all.size()) return MadeQueues{.numbers = std::move(*queues)};

  std::vector<TaskId> ids;
  for (const Submission& each : submissions) ids.push_back(each.id());
  const auto numbers = pool_.look<std::vector<std::optional<std::int64_t>>>(
      [&](Transaction& transaction) -> Result<std::vector<std::optional<std::int64_t>>> {
        auto found = find_numbers(transaction, ids);
        if (auto done = transaction.commit(); !done.ok()) return done.error();
        return found;
      });
  if (!numbers.ok()) return numbers.error();
  std::vector<WantedQueue> wanted;
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const Submission& each = submissions[i];
    if ((*numbers)[i] || queues->contains(each.task.queue)) continue;
    const bool is_repeated = std::ranges::any_of(wanted, [&](const WantedQueue& before) {
      return before.name == each.task.queue && before.allowance == each.allowance.get();
    });
    if (is_repeated) continue;
    wanted.push_back({.name = each.task.queue, .allowance = each.allowance.get()});
  }
  auto made = names_.find_or_make_wanted(wanted);
  if (!made.ok()) return made.error();
  made->numbers.merge(*queues);
  return made;
}

Result<std::vector<SubmitOutcome>> Submitter::insert_checking_duplicates(std::span<const Submission> submissions) {
  for (int i = 0; i < kMostTries; ++i) {
    const auto queues = make_queues(submissions);  // each time: one of them may have ended
    if (!queues.ok()) return queues.error();
    auto outcomes = try_to_insert(submissions, queues->numbers);
    if (!outcomes.ok()) return outcomes.error();
    if (*outcomes) {
      if (!queues->is_full) name_allowances(submissions, **outcomes);
      return std::move(**outcomes);
    }
    days_.forget();
    if (auto refreshed = days_.refresh(); !refreshed.ok()) return refreshed.error();
  }
  return Error{ErrorCode::kUnavailable,
               "submit: other clients keep storing tasks under the same ids or keys; try again later"};
}

// Looks up what is stored already, and stores the rest. Nothing if another transaction stored one of the ids or keys
// meanwhile.
Result<std::optional<std::vector<SubmitOutcome>>> Submitter::try_to_insert(std::span<const Submission> submissions,
                                                                           const Queues& queues) {
  using Answer = std::optional<std::vector<SubmitOutcome>>;
  const auto numbered = number(submissions, queues);
  if (!numbered.ok()) return numbered.error();
  const auto body = [&](Transaction& transaction) -> Result<Answer> {
    const Stored stored = find_stored(transaction, submissions, queues);
    if (transaction.failed()) return transaction.failure()->error;
    Answer outcomes = outcomes_of_stored(submissions, queues, stored);
    if (!outcomes) return Answer();
    std::vector<NewEntry> entries = *numbered;
    std::erase_if(entries, [&](const NewEntry& entry) { return stored.numbers[entry.place].has_value(); });
    if (entries.empty()) {
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      return outcomes;
    }
    if (!insert_guards(transaction, entries)) {
      if (transaction.failed()) return transaction.failure()->error;
      return Answer();
    }
    const Insertion insertion(transaction, std::move(entries));
    if (auto done = transaction.commit(); !done.ok()) {
      note_refusal(*transaction.failure(), submissions);
      if (Insertion::was_refused(*transaction.failure())) return Answer();
      return done.error();
    }
    if (auto checked = insertion.check(); !checked.ok()) return checked.error();
    insertion.add_outcomes(*outcomes);
    insertion.remember(known_, floors_);
    return outcomes;
  };
  return pool_.transact<Answer>(body, Repeat::kAlways);  // by the ids and keys
}

}  // namespace horae::postgres
