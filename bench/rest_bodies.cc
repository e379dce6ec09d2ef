#include "bench/rest_bodies.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/json_scan.h"

namespace horae::bench {

std::string batch_body(int count, const std::string& spec) {
  std::string body = R"({"tasks":[)";
  for (int i = 0; i < count; ++i) {
    if (i > 0) body += ',';
    body += fmt::format(R"({{"queue":"bench","priority":{},"spec":{}}})", 50 + i % 4, spec);
  }
  return body + "]}";
}

std::string settle_body(const std::string& claimed, const std::string& owner) {
  const auto members = scan_object(claimed).value();
  std::string body;
  for (const std::string_view task : scan_array(members.at(0).value).value()) {
    std::map<std::string_view, std::string_view> fields;
    for (const JsonMember& member : scan_object(task).value()) fields[member.key] = member.value;
    body += fmt::format(R"({}{{"event":"complete","id":{},"number":{},"attempt":{},"owner":"{}","result":{{}}}})",
                        body.empty() ? "" : ",", fields["id"], fields["number"], fields["attempt"], owner);
  }
  return body.empty() ? "" : R"({"settlements":[)" + body + "]}";
}

std::vector<HeldTask> held_tasks(const std::string& answer) {
  std::vector<HeldTask> tasks;
  const auto members = scan_object(answer).value();
  const auto list = std::ranges::find(members, "tasks", &JsonMember::key);
  if (list == members.end()) return tasks;
  const auto items = scan_array(list->value).value();
  for (const std::string_view task : items) {
    HeldTask& held = tasks.emplace_back();
    const auto fields = scan_object(task).value();
    for (const JsonMember& field : fields) {
      if (field.key == "id") held.id = field.value;
      if (field.key == "number") held.number = field.value;
      if (field.key == "attempt") held.attempt = field.value;
    }
  }
  return tasks;
}

std::string exchange_body(const std::string& owner, const std::vector<HeldTask>& done,
                          const std::vector<HeldTask>& running, int max, const std::string& token,
                          const std::string& wait) {
  std::string settlements;
  const auto add = [&](const HeldTask& task, std::string_view event, std::string_view more) {
    settlements += fmt::format(R"({}{{"event":"{}","id":{},"number":{},"attempt":{}{}}})",
                               settlements.empty() ? "" : ",", event, task.id, task.number, task.attempt, more);
  };
  for (const HeldTask& task : done) add(task, "complete", R"(,"result":{})");
  for (const HeldTask& task : running) add(task, "heartbeat", "");
  std::string body = fmt::format(R"({{"owner":"{}","settlements":[{}])", owner, settlements);
  if (max > 0) body += fmt::format(R"(,"claim":{{"queues":["bench"],"max":{},"token":"{}"}})", max, token);
  if (!wait.empty()) body += fmt::format(R"(,"wait":"{}")", wait);
  return body + "}";
}

}  // namespace horae::bench
