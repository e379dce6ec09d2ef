#include "agent/exec/exec_rules.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "agent/processes/descriptor.h"
#include "base/quote.h"

namespace horae::agent {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";
constexpr std::size_t kMaxAccountBytes = 1 << 16;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string_view file_name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_program(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

Result<std::string> find_program(const std::string& name, std::string_view path) {
  if (name.starts_with('/')) {
    if (is_program(name)) return name;
    return Error{ErrorCode::kMalformed, fmt::format("{} is no program that this user may execute", quote(name))};
  }
  if (name.empty() || name.find('/') != std::string::npos) {
    return Error{ErrorCode::kMalformed, fmt::format("{}: give an absolute path, or a name in PATH", quote(name))};
  }
  for (const std::string& folder : split(path, ':')) {
    std::string candidate = fmt::format("{}/{}", folder, name);
    if (folder.starts_with('/') && is_program(candidate)) return candidate;
  }
  return Error{ErrorCode::kMalformed, fmt::format("{} is not found in PATH ({})", quote(name), path)};
}

struct Account {
  UserIds ids;
  std::string home;
};

Result<Account> find_account(const std::string& name) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(kMaxAccountBytes);
  ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) return Error{ErrorCode::kMalformed, fmt::format("there is no user {}", quote(name))};
  Account account{.ids = {.user = entry.pw_uid, .group = entry.pw_gid, .groups = {}}, .home = entry.pw_dir};
  std::array<gid_t, 64> groups{};
  int count = groups.size();
  if (::getgrouplist(name.c_str(), entry.pw_gid, groups.data(), &count) < 0) count = 0;
  account.ids.groups.assign(groups.begin(), groups.begin() + count);
  return account;
}

bool matches(const std::string& path, std::string_view name) { return name == path || name == file_name_of(path); }

}  // namespace

Result<ExecRules> ExecRules::make(const ExecOptions& options, const Environment& environment) {
  ExecRules rules;
  const auto variable = [&](const std::string& name, std::string_view otherwise) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string(otherwise) : found->second;
  };
  const std::string path = variable("PATH", kDefaultPath);
  for (const std::string& name : options.programs) {
    auto program = find_program(name, path);
    if (!program.ok()) return program.error();
    rules.programs_.push_back(std::move(*program));
  }
  for (const std::string& text : options.commands) {
    std::vector<std::string> argv = split(text, ' ');
    auto program = find_program(argv.empty() ? "" : argv.front(), path);
    if (!program.ok()) return program.error();
    argv.front() = std::move(*program);
    rules.commands_.push_back(std::move(argv));
  }
  rules.secrets_ = options.secrets;
  rules.environment_["PATH"] = path;
  rules.environment_["HOME"] = variable("HOME", "/");
  std::vector<std::string> passed = {"LANG", "TZ"};
  passed.insert(passed.end(), options.environment.begin(), options.environment.end());
  for (const std::string& name : passed) {
    if (environment.contains(name)) rules.environment_[name] = environment.at(name);
  }
  if (options.user.empty()) {
    if (::geteuid() == 0 && rules.allows_anything()) {
      return Error{ErrorCode::kMalformed,
                   "the agent runs as root, and so would its programs: name their user by --agent-user NAME "
                   "(agent.user; root, if that is meant)"};
    }
    return rules;
  }
  auto account = find_account(options.user);
  if (!account.ok()) return account.error();
  rules.environment_["HOME"] = account->home;
  if (account->ids.user == ::geteuid()) return rules;  // as it is
  if (::geteuid() != 0) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("only an agent that runs as root can run programs as {}", quote(options.user))};
  }
  rules.user_ = std::move(account->ids);
  return rules;
}

Result<std::string> ExecRules::program_of(const std::vector<std::string>& argv) const {
  for (const std::string& program : programs_) {
    if (matches(program, argv.front())) return program;
  }
  for (const std::vector<std::string>& command : commands_) {
    if (matches(command.front(), argv.front()) &&
        std::equal(argv.begin() + 1, argv.end(), command.begin() + 1, command.end())) {
      return command.front();
    }
  }
  return Error{ErrorCode::kForbidden,
               fmt::format("this agent may not run {}: its operator allows programs and commands by name",
                           quote(fmt::format("{}", fmt::join(argv, " "))))};
}

Result<std::string> ExecRules::secret(const std::string& name) const {
  const Error absent{ErrorCode::kForbidden, fmt::format("this agent has no secret {}", quote(name))};
  if (secrets_.empty() || name.empty() || name.front() == '.' || name.find('/') != std::string::npos) return absent;
  const Descriptor file(::open((secrets_ + "/" + name).c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.is_open()) return absent;
  auto text = read_rest(file.number(), kMaxSecretBytes);
  if (!text.ok()) return Error{ErrorCode::kForbidden, fmt::format("secret {}: {}", quote(name), text.error().message)};
  if (text->ends_with('\n')) text->pop_back();
  if (text->empty() || text->find('\0') != std::string::npos) {
    return Error{ErrorCode::kForbidden, fmt::format("secret {} is empty, or no text", quote(name))};
  }
  return text;
}

}  // namespace horae::agent
