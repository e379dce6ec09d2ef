#include "cli/client/delay_replies.h"

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <utility>

#include "api/json/field_reader.h"
#include "base/json_scan.h"

namespace horae::cli {
namespace {

// Ignores fields that it does not know: a newer node may add some.
class Reader : public FieldReader {
 public:
  Reader(std::string_view json, std::initializer_list<std::string_view> known)
      : FieldReader(json, known, {}, FieldReader::Unknown::kIgnored) {}

  std::string word(std::string_view name) { return text(name).value_or(""); }
  std::int64_t count(std::string_view name) { return integer(name).value_or(0); }
  std::string raw(std::string_view name) { return std::string(present_json(name).value_or("null")); }
};

template <typename T>
Result<T> finish(const Reader& reader, std::string_view what, T value) {
  if (!reader.fault()) return value;
  return Error{ErrorCode::kInternal,
               fmt::format("cannot read the node's answer as a {}: {}; are both of the same version?", what,
                           reader.fault()->message)};
}

template <typename T>
Result<std::vector<T>> read_all(const std::optional<std::vector<std::string_view>>& elements,
                                Result<T> (*read)(std::string_view)) {
  std::vector<T> all;
  if (!elements) return all;
  for (const std::string_view element : *elements) {
    auto one = read(element);
    if (!one.ok()) return one.error();
    all.push_back(std::move(*one));
  }
  return all;
}

// Adds what is wrong with the input or an output.
void add_problem(DelayQueueReply& queue, Reader& fields, std::string_view name) {
  const auto json = fields.present_json(name);
  if (!json) return;
  Reader end(*json, {"problem", "connected", "lag"});
  const std::string problem = end.word("problem");
  if (!problem.empty()) queue.problems.push_back(fmt::format("{}: {}", name, problem));
  if (const auto lag = end.integer("lag")) queue.lag = std::to_string(*lag);
}

}  // namespace

Result<DelayQueueReply> read_delay_queue(std::string_view json) {
  Reader fields(json, {"name", "counts", "fired_per_second", "lateness_p50", "lateness_p99", "timing_advance", "input",
                       "output", "dead_letters"});
  DelayQueueReply queue{.name = fields.word("name"),
                        .oldest_overdue = {},
                        .fired_per_second = fields.number("fired_per_second").value_or(0),
                        .lateness_p50 = fields.word("lateness_p50"),
                        .lateness_p99 = fields.word("lateness_p99"),
                        .timing_advance = fields.word("timing_advance"),
                        .lag = {},
                        .problems = {}};
  if (const auto counted = fields.present_json("counts")) {
    Reader counts(*counted, {"waiting", "ready", "overdue", "oldest_overdue", "more"});
    queue.waiting = counts.count("waiting");
    queue.ready = counts.count("ready");
    queue.overdue = counts.count("overdue");
    queue.oldest_overdue = counts.word("oldest_overdue");
    queue.more = counts.boolean("more").value_or(false);
  }
  for (const char* name : {"input", "output", "dead_letters"}) add_problem(queue, fields, name);
  return finish(fields, "delay queue", std::move(queue));
}

Result<std::vector<DelayQueueReply>> read_delay_queues(std::string_view json) {
  Reader fields(json, {"queues"});
  auto queues = read_all(fields.array("queues"), read_delay_queue);
  if (!queues.ok()) return queues;
  return finish(fields, "list of delay queues", std::move(*queues));
}

Result<MessageReply> read_message(std::string_view json) {
  Reader fields(json, {"id", "state", "deadline", "due", "key", "value", "headers", "readied_at", "readied_by"});
  return finish(fields, "message",
                MessageReply{.id = fields.word("id"),
                             .state = fields.word("state"),
                             .deadline = fields.word("deadline"),
                             .due = fields.word("due"),
                             .key = fields.raw("key"),
                             .value = fields.raw("value"),
                             .headers = fields.raw("headers"),
                             .readied_at = fields.word("readied_at"),
                             .readied_by = fields.word("readied_by")});
}

Result<MessagePageReply> read_message_page(std::string_view json) {
  Reader fields(json, {"messages", "next"});
  auto messages = read_all(fields.array("messages"), read_message);
  if (!messages.ok()) return messages.error();
  return finish(fields, "list of messages", MessagePageReply{std::move(*messages), fields.word("next")});
}

Result<PutReply> read_put(std::string_view json) {
  Reader fields(json, {"id", "outcome", "problem"});
  PutReply reply{.id = fields.word("id"), .outcome = fields.word("outcome"), .type = {}, .problem = {}};
  if (const auto problem = fields.present_json("problem")) {
    Reader inner(*problem, {"type", "detail"});
    reply.type = inner.word("type");
    reply.problem = inner.word("detail");
  }
  return finish(fields, "put", std::move(reply));
}

Result<std::vector<PutReply>> read_put_outcomes(std::string_view json) {
  Reader fields(json, {"outcomes"});
  auto outcomes = read_all(fields.array("outcomes"), read_put);
  if (!outcomes.ok()) return outcomes;
  return finish(fields, "list of outcomes", std::move(*outcomes));
}

Result<MovedReply> read_moved(std::string_view json) {
  Reader fields(json, {"id", "deadline"});
  return finish(fields, "move", MovedReply{.id = fields.word("id"), .deadline = fields.word("deadline")});
}

}  // namespace horae::cli
