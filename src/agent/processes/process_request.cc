#include "agent/processes/process_request.h"

#include <cstring>

namespace horae::agent {
namespace {

const Error kDamaged{ErrorCode::kMalformed, "a message between processes of the agent is damaged"};

class Writer {
 public:
  void number(std::uint64_t value) { out_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view text) {
    number(text.size());
    out_ += text;
  }
  void texts(const std::vector<std::string>& texts) {
    number(texts.size());
    for (const std::string& each : texts) text(each);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// After a fault everything is empty.
class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (rest_.size() < sizeof value) return fail();
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > rest_.size()) return std::string(fail(), '\0');
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> texts;
    for (std::uint64_t count = this->count(); count > 0; --count) texts.push_back(text());
    return texts;
  }
  // Of things that have 8 bytes at least.
  std::uint64_t count() {
    const std::uint64_t count = number();
    return count > rest_.size() / sizeof count ? fail() : count;
  }
  bool is_whole() const { return !failed_ && rest_.empty(); }

 private:
  std::uint64_t fail() {
    failed_ = true;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace

std::string to_bytes(const ProcessRequest& request) {
  Writer out;
  out.text(request.program);
  out.texts(request.argv);
  out.texts(request.environment);
  out.text(request.folder);
  out.number(request.user ? 1 : 0);
  if (request.user) {
    out.number(request.user->user);
    out.number(request.user->group);
    out.number(request.user->groups.size());
    for (const gid_t group : request.user->groups) out.number(group);
  }
  out.number(request.limits.size());
  for (const ResourceLimit& limit : request.limits) {
    out.number(static_cast<std::uint64_t>(limit.resource));
    out.number(limit.value);
  }
  return out.take();
}

Result<ProcessRequest> read_process_request(std::string_view bytes) {
  Reader in(bytes);
  ProcessRequest request;
  request.program = in.text();
  request.argv = in.texts();
  request.environment = in.texts();
  request.folder = in.text();
  if (in.number() != 0) {
    UserIds user;
    user.user = static_cast<uid_t>(in.number());
    user.group = static_cast<gid_t>(in.number());
    for (std::uint64_t count = in.count(); count > 0; --count) user.groups.push_back(static_cast<gid_t>(in.number()));
    request.user = std::move(user);
  }
  for (std::uint64_t count = in.count(); count > 0; --count) {
    const int resource = static_cast<int>(in.number());
    request.limits.push_back({.resource = resource, .value = in.number()});
  }
  if (!in.is_whole() || request.argv.empty()) return kDamaged;
  return request;
}

std::string to_bytes(const ProcessReport& report) {
  return std::string(reinterpret_cast<const char*>(&report), sizeof report);
}

Result<ProcessReport> read_process_report(std::string_view bytes) {
  ProcessReport report;
  if (bytes.size() != sizeof report) return kDamaged;
  std::memcpy(&report, bytes.data(), sizeof report);
  return report;
}

}  // namespace horae::agent
