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

const Sql kGuardKeys = statement("guard_keys");
const Sql kGuardIds = statement("guard_ids");
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

// A stored task, as far as a repeated submission asks for it.
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
      NewTask asked{.queue = row.text(2),
                    .priority = row.small(3),
                    .spec = row.text(4),
                    .run_at = row.optional_instant(5),
                    .recurring = row.optional_duration(6),
                    .max_attempts = row.small(7)};
      if (!row.is_null(8)) {
        asked.retry = {static_cast<RetryPolicy::Kind>(row.small(8)), row.duration(9), row.real(10), row.duration(11),
                       row.real(12)};
      }
      digest = request_digest(asked);
    }
    present[row.integer(0)] = {row.uuid(1), std::move(digest)};
  }
  return present;
}

}  // namespace

Result<std::vector<SubmitOutcome>> Submitter::submit(std::span<const Submission> submissions) {
  if (submissions.empty()) return std::vector<SubmitOutcome>();
  auto entries = prepare_quickly(submissions);
  if (!entries.ok()) return entries.error();
  if (*entries) {
    auto quick = submit_quickly(**entries);
    if (!quick.ok()) return quick.error();
    if (*quick) return std::move(**quick);
  }

  // With care, in pieces that hold no id and no key twice: a later one sees what an earlier one did.
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
    auto piece = submit_with_care(submissions.subspan(begin, end - begin));
    if (!piece.ok()) return piece.error();
    std::ranges::move(*piece, std::back_inserter(outcomes));
    begin = end;
  }
  return outcomes;
}

bool Submitter::is_quick(std::span<const Submission> submissions, const Queues& queues) {
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

// Takes numbers for all, in one piece for each day. Ids that tell an open day go there; all others to today, guarded.
Result<std::vector<NewEntry>> Submitter::number(std::span<const Submission> submissions, const Queues& queues) {
  std::vector<std::optional<std::int64_t>> told(submissions.size());  // by the ids
  std::map<std::int64_t, bool> is_open;
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    if (!submissions[i].task.id) told[i] = day_in(submissions[i].new_id);
    if (told[i]) is_open[*told[i]] = false;
  }
  const auto look_at_days = [&] {
    for (auto& [day, open] : is_open) open = days_.is_open(day);
    return std::ranges::all_of(is_open, [](const auto& day) { return day.second; });
  };
  // A day that an id tells and that is not open may be a new one. Other ids say nothing about the day.
  if (!look_at_days() || days_.today() == 0) {
    if (auto refreshed = days_.refresh(); !refreshed.ok()) return refreshed.error();
    (void)look_at_days();
  }
  const std::int64_t today = days_.today();
  std::vector<NewEntry> entries;
  entries.reserve(submissions.size());
  std::map<std::int64_t, std::int64_t> counts;
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const auto queue = queues.find(submissions[i].task.queue);
    if (queue == queues.end()) continue;
    const bool goes_there = told[i] && is_open[*told[i]];
    entries.push_back({.submission = &submissions[i],
                       .place = i,
                       .queue = queue->second,
                       .day = goes_there ? *told[i] : today,
                       .is_guarded = !goes_there});
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

Result<std::optional<std::vector<NewEntry>>> Submitter::prepare_quickly(std::span<const Submission> submissions) {
  using Answer = std::optional<std::vector<NewEntry>>;
  std::set<std::string> names;
  for (const Submission& each : submissions) names.insert(each.task.queue);
  const auto queues = names_.find({names.begin(), names.end()});
  if (!queues.ok()) return queues.error();
  if (!is_quick(submissions, *queues)) return Answer();
  auto entries = number(submissions, *queues);
  if (!entries.ok()) return entries.error();
  if (std::ranges::any_of(*entries, &NewEntry::is_guarded)) return Answer();
  return Answer(std::move(*entries));
}

Result<std::optional<std::vector<SubmitOutcome>>> Submitter::submit_quickly(const std::vector<NewEntry>& entries) {
  using Answer = std::optional<std::vector<SubmitOutcome>>;
  return pool_.transact_in_one_trip<Answer>([&](Transaction& transaction) -> Result<Answer> {
    const Insertion insertion(transaction, entries);
    if (auto done = transaction.commit(); !done.ok()) {
      if (Insertion::was_refused(*transaction.failure())) return Answer();
      return done.error();
    }
    insertion.note(known_, floors_);
    return Answer(insertion.outcomes());
  });
}

// A queue is made only for a task that will be stored in it.
Result<Submitter::Queues> Submitter::make_queues(std::span<const Submission> submissions) {
  std::set<std::string> all;
  for (const Submission& each : submissions) all.insert(each.task.queue);
  auto queues = names_.find({all.begin(), all.end()});
  if (!queues.ok() || queues->size() == all.size()) return queues;

  std::vector<TaskId> ids;
  for (const Submission& each : submissions) ids.push_back(each.id());
  const auto numbers = pool_.look<std::vector<std::optional<std::int64_t>>>(
      [&](Transaction& transaction) -> Result<std::vector<std::optional<std::int64_t>>> {
        auto found = find_numbers(transaction, ids);
        if (auto done = transaction.commit(); !done.ok()) return done.error();
        return found;
      });
  if (!numbers.ok()) return numbers.error();
  std::vector<std::string> wanted;
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const std::string& name = submissions[i].task.queue;
    if (!(*numbers)[i] && std::ranges::find(wanted, name) == wanted.end()) wanted.push_back(name);
  }
  const auto made = names_.find_or_make(wanted);
  if (!made.ok()) return made.error();
  queues->insert(made->begin(), made->end());
  return queues;
}

Result<std::vector<SubmitOutcome>> Submitter::submit_with_care(std::span<const Submission> submissions) {
  const auto queues = make_queues(submissions);
  if (!queues.ok()) return queues.error();
  for (int i = 0; i < kMostTries; ++i) {
    auto outcomes = try_with_care(submissions, *queues);
    if (!outcomes.ok()) return outcomes.error();
    if (*outcomes) return std::move(**outcomes);
    days_.forget();
    if (auto refreshed = days_.refresh(); !refreshed.ok()) return refreshed.error();
  }
  return Error{ErrorCode::kUnavailable,
               "submit: others store tasks under the same ids or keys again and again; try again later"};
}

// Looks up what is there, and stores the rest. Nothing if somebody else stored one of the ids or keys meanwhile.
Result<std::optional<std::vector<SubmitOutcome>>> Submitter::try_with_care(std::span<const Submission> submissions,
                                                                           const Queues& queues) {
  using Answer = std::optional<std::vector<SubmitOutcome>>;
  const auto numbered = number(submissions, queues);
  if (!numbered.ok()) return numbered.error();
  return pool_.transact<Answer>([&](Transaction& transaction) -> Result<Answer> {
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
    // The key comes first: it names the task that the client means.
    auto numbers = find_numbers(transaction, ids);
    if (!keys.empty()) {
      for (const Row row : transaction.run(kFindKeys, Params::of(key_queues, keys))) {
        numbers[key_places[static_cast<std::size_t>(row.integer(0) - 1)]] = row.integer(1);
      }
    }
    std::vector<std::int64_t> found;
    for (const auto& number : numbers) {
      if (number) found.push_back(*number);
    }
    const auto present = find_present(transaction, found);
    auto standings = find_standings(transaction, found);
    if (transaction.failed()) return transaction.failure()->error;

    std::vector<SubmitOutcome> outcomes(submissions.size());
    for (std::size_t i = 0; i < submissions.size(); ++i) {
      const Submission& each = submissions[i];
      if (!numbers[i]) {
        if (!queues.contains(each.task.queue)) outcomes[i] = {SubmitOutcome::Kind::kOverLimit, each.id()};
        continue;
      }
      const auto stored = present.find(*numbers[i]);
      if (stored == present.end()) return Answer();  // purged meanwhile
      const bool same = stored->second.digest == request_digest(each.task);
      outcomes[i] = {same ? SubmitOutcome::Kind::kPresent : SubmitOutcome::Kind::kConflict, stored->second.id,
                     *numbers[i], standings[*numbers[i]].state};
    }
    std::vector<NewEntry> entries = *numbered;
    std::erase_if(entries, [&](const NewEntry& entry) { return numbers[entry.place].has_value(); });
    if (entries.empty()) {
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      return Answer(std::move(outcomes));
    }

    // Whoever comes second waits here for the first one, and then looks again.
    std::vector<std::int32_t> guard_queues;
    std::vector<std::string_view> guard_keys;
    std::vector<std::int64_t> key_numbers, id_numbers;
    std::vector<TaskId> guard_ids;
    std::vector<std::string> digests;
    digests.reserve(entries.size());
    std::vector<Blob> key_digests, id_digests;
    for (const NewEntry& entry : entries) {
      const NewTask& task = entry.submission->task;
      if (!task.key && !entry.is_guarded) continue;
      digests.push_back(request_digest(task));
      if (task.key) {
        guard_queues.push_back(entry.queue);
        guard_keys.push_back(*task.key);
        key_numbers.push_back(entry.number);
        key_digests.push_back({digests.back()});
      }
      if (entry.is_guarded) {
        guard_ids.push_back(entry.submission->id());
        id_numbers.push_back(entry.number);
        id_digests.push_back({digests.back()});
      }
    }
    if (!guard_keys.empty()) {
      const Rows inserted = transaction.run(kGuardKeys, Params::of(guard_queues, guard_keys, key_numbers, key_digests));
      if (transaction.failed()) return transaction.failure()->error;
      if (inserted.affected() < guard_keys.size()) return Answer();
    }
    if (!guard_ids.empty()) {
      const Rows inserted = transaction.run(kGuardIds, Params::of(guard_ids, id_numbers, id_digests));
      if (transaction.failed()) return transaction.failure()->error;
      if (inserted.affected() < guard_ids.size()) return Answer();
    }
    const Insertion insertion(transaction, std::move(entries));
    if (auto done = transaction.commit(); !done.ok()) {
      if (Insertion::was_refused(*transaction.failure())) return Answer();
      return done.error();
    }
    insertion.tell(outcomes);
    insertion.note(known_, floors_);
    return Answer(std::move(outcomes));
  });
}

}  // namespace horae::postgres
