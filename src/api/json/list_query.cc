#include "api/json/list_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/quote.h"
#include "base/time_text.h"

namespace horae {
namespace {

Result<std::vector<State>> read_states(std::string_view text) {
  std::vector<State> states;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto state = parse_state(text.substr(0, comma));
    if (!state) {
      return Error{ErrorCode::kMalformed,
                   fmt::format("state {}: give scheduled, ready, running, completed, aborted or cancelled, or several "
                               "separated by commas",
                               quote(text.substr(0, comma)))};
    }
    states.push_back(*state);
    text.remove_prefix(std::min(comma + 1, text.size()));
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
  const auto states = read_states(call.parameter("state").value_or(""));
  if (!states.ok()) return states.error();
  choose_list(query, *states);
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
      {"state", R"({"type":"string","examples":["ready","completed,aborted"]})",
       "One state, or several separated by commas. `scheduled` alone is sorted by due time, `ready` alone in the order "
       "of "
       "claims, `running` alone by start; everything else newest first."},
      {"queue", R"({"type":"string"})", "Only tasks of this queue."},
      {"owner", R"({"type":"string","examples":["worker-7"]})",
       "Only tasks of this owner; requires state=running, or created_from and created_before at most a day apart."},
      {"created_from", R"({"type":"string","format":"date-time"})", "Only tasks submitted at this time or later."},
      {"created_before", R"({"type":"string","format":"date-time"})", "Only tasks submitted before this time."},
      {"limit", R"({"type":"integer","minimum":1,"maximum":1000,"default":100})", "Maximum number of tasks in a page."},
      {"cursor", R"({"type":"string"})", "`next` of the previous page; the other parameters must be the same."},
  };
  return kParameters;
}

}  // namespace horae
