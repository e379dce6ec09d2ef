// Laws of the target of a request, for any bytes: its route, its query and its page of a list. The input is a method, a
// path and a query: "GET /v1/tasks?limit=10".
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "api/event_stream.h"
#include "api/json/list_query.h"
#include "api/route.h"
#include "base/utf8.h"
#include "laws.h"
#include "stores/list_cursor.h"

namespace horae {
namespace {

// Discards the answer.
class NoAnswer final : public AnswerSlot {
 public:
  void answer(HttpResponse, Sent) override {}
  void stream(HttpResponse, std::shared_ptr<BodyStream>) override {}
  void resume() override {}
  void on_gone(std::function<void()>) override {}
  bool is_gone() const override { return true; }
};

// A well-formed value may be refused because it is not allowed.
void require_refusal(Error error) {
  HORAE_CHECK(error.code == ErrorCode::kMalformed || error.code == ErrorCode::kRefused, "the request is at fault");
  error.code = ErrorCode::kMalformed;
  require_good_refusal(error);
}

void require_laws_of_cursors(ListQuery query) {
  const auto position = read_cursor(query);
  if (!position.ok()) return require_refusal(position.error());
  query.cursor = write_cursor(query.kind, *position);
  const auto again = read_cursor(query);
  HORAE_CHECK(again.ok() && *again == *position, "what is written reads back to the same place");
}

void require_laws_of_lists(const Call& call) {
  const auto query = read_list_query(call);
  if (!query.ok()) return require_refusal(query.error());
  HORAE_CHECK(query->limit >= 1 && query->limit <= kMaxPage, "a page has its limits");
  HORAE_CHECK(check_list_query(*query).ok(), "what is read can be listed");
  require_laws_of_cursors(*query);
}

void require_laws_of_queries(std::string_view text, const Route& route) {
  auto query = read_query(text, route);
  if (!query.ok()) return require_refusal(query.error());
  HORAE_CHECK(query->size() <= route.parameters.size(), "each parameter of a route occurs once");
  Call call{.request = {}, .responder = Responder(std::make_shared<NoAnswer>()), .route = &route};
  call.query = std::move(*query);
  for (const auto& [name, value] : call.query) {
    HORAE_CHECK(std::ranges::count(call.query, name, &Call::Query::value_type::first) == 1, "each comes once");
    HORAE_CHECK(is_text(value), "a value is text");
  }
  require_laws_of_lists(call);
}

void require_laws_of_routes(std::string_view method, std::string_view path, std::string_view query) {
  const RouteMatch match = find_route(method, path);
  if (match.route == nullptr) {
    HORAE_CHECK(match.arguments.empty(), "a path without a route has no arguments");
    return;
  }
  HORAE_CHECK(match.route->method == method || method == "HEAD", "a route is of its method");
  const auto holes = std::ranges::count(match.route->pattern, '{');
  HORAE_CHECK(std::ssize(match.arguments) == holes, "there is an argument for each placeholder");
  for (const auto& argument : match.arguments) HORAE_CHECK(is_text(argument), "an argument is text");
  require_laws_of_queries(query, *match.route);
}

void require_laws_of_event_ids(std::string_view text) {
  const auto number = parse_event_id(text, "worker-7");
  if (number) HORAE_CHECK(text.starts_with("worker-7:"), "an event is one of this node");
}

void require_laws(std::string_view text) {
  const std::size_t space = std::min(text.find(' '), text.size());
  const std::string_view target = text.substr(std::min(space + 1, text.size()));
  const std::size_t question = std::min(target.find('?'), target.size());
  const std::string_view query = target.substr(std::min(question + 1, target.size()));
  require_laws_of_routes(text.substr(0, space), target.substr(0, question), query);
  require_laws_of_event_ids(query);
  for (const ListKind kind :
       {ListKind::kScheduled, ListKind::kReady, ListKind::kRunning, ListKind::kFinished, ListKind::kAll}) {
    ListQuery list;
    list.kind = kind;
    list.cursor = query;
    require_laws_of_cursors(list);
  }
}

}  // namespace
}  // namespace horae

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  horae::require_laws(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
