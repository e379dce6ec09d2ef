#include "api/json/list_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/json/fields.h"
#include "base/quote.h"
#include "base/time_text.h"
#include "http/uri.h"

namespace horae {
namespace {

constexpr std::string_view kStatesSchema =
    R"({"type":"string","pattern":"^(scheduled|ready|running|completed|aborted|cancelled)(,(scheduled|ready|running|completed|aborted|cancelled))*$","examples":["ready","completed,aborted"]})";

Result<std::vector<State>> read_states(std::string_view text) {
  std::vector<State> states;
  for (const std::string_view name : split(text, ',')) {
    const auto state = parse_state(name);
    if (!state) {
      return Error{ErrorCode::kMalformed,
                   fmt::format("state {}: give scheduled, ready, running, completed, aborted or cancelled, or several "
                               "separated by commas",
                               quote(name))};
    }
    states.push_back(*state);
  }
  return states;
}

// A single state that has a list of its own is read from it, in its order.
void choose_list(ListQuery& query, std::vector<State> states) {
  if (states == std::vector{State::kScheduled}) {
    query.kind = ListKind::kScheduled;
  } else if (states == std::vector{State::kReady}) {
    query.kind = ListKind::kReady;
  } else if (states == std::vector{State::kRunning}) {
    query.kind = ListKind::kRunning;
  } else {
    const bool all_finished = !states.empty() && std::ranges::all_of(states, is_terminal);
    query.kind = all_finished ? ListKind::kFinished : ListKind::kAll;
    query.states = std::move(states);
  }
}

Result<std::optional<Instant>> read_time(const Call& call, std::string_view name) {
  const auto text = call.parameter(name);
  if (!text) return std::optional<Instant>();
  const auto time = parse_instant(*text);
  if (!time.ok()) return Error{ErrorCode::kMalformed, fmt::format("{}: {}", name, time.error().message)};
  return std::optional(*time);
}

Result<int> read_limit(const Call& call) {
  const auto text = call.parameter("limit");
  if (!text) return kDefaultPage;
  int limit = 0;
  const auto read = std::from_chars(text->data(), text->data() + text->size(), limit);
  if (read.ec == std::errc() && read.ptr == text->data() + text->size()) return limit;
  return Error{ErrorCode::kMalformed, fmt::format("limit {}: give a whole number, 1 to {}", quote(*text), kMaxPage)};
}

}  // namespace

Result<ListQuery> read_list_query(const Call& call) {
  ListQuery query;
  if (const auto names = call.parameter("state")) {
    auto states = read_states(*names);
    if (!states.ok()) return states.error();
    choose_list(query, std::move(*states));
  }
  if (const auto queue = call.parameter("queue")) query.queue = *queue;
  if (const auto owner = call.parameter("owner")) query.owner = *owner;
  const auto from = read_time(call, "created_from");
  if (!from.ok()) return from.error();
  query.created_from = *from;
  const auto before = read_time(call, "created_before");
  if (!before.ok()) return before.error();
  query.created_before = *before;
  const auto limit = read_limit(call);
  if (!limit.ok()) return limit.error();
  query.limit = *limit;
  query.cursor = call.parameter("cursor").value_or("");
  if (auto checked = check_list_query(query); !checked.ok()) return checked.error();
  return query;
}

const std::vector<Parameter>& list_parameters() {
  static const std::vector<Parameter> kParameters = {
      {"state", kStatesSchema,
       "One state, or several separated by commas. `scheduled` alone is sorted by due time, `ready` alone in the order "
       "of "
       "claims, `running` alone by start; everything else newest first."},
      {"queue", schema::kQueueName, "Only tasks of this queue."},
      {"owner", R"({"$ref":"#/components/schemas/Name","examples":["worker-7"]})",
       "Only tasks of this owner; requires state=running, or created_from and created_before at most a day apart."},
      {"created_from", R"({"type":"string","format":"date-time"})", "Only tasks submitted at this time or later."},
      {"created_before", R"({"type":"string","format":"date-time"})", "Only tasks submitted before this time."},
      {"limit", R"({"type":"integer","minimum":1,"maximum":1000,"default":100})", "Maximum number of tasks in a page."},
      {"cursor", R"({"type":"string","minLength":1})",
       "`next` of the previous page; the other parameters must be the same."},
  };
  return kParameters;
}

}  // namespace horae
