#include "bench/rest_bodies.h"

#include <fmt/format.h>

#include <map>

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

}  // namespace horae::bench
