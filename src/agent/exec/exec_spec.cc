#include "agent/exec/exec_spec.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cctype>

#include "api/json/field_reader.h"
#include "base/duration.h"
#include "base/json_scan.h"
#include "base/quote.h"

namespace horae::agent {
namespace {

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

bool is_variable_name(std::string_view name) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; };
  return !name.empty() && name.size() <= 128 && is_letter(static_cast<unsigned char>(name.front())) &&
         std::ranges::all_of(name, [&](unsigned char c) { return is_letter(c) || std::isdigit(c) != 0; });
}

// An object of strings whose keys are names of variables.
void read_variables(FieldReader& fields, std::string_view field, Variables& to) {
  const auto json = fields.present_json(field);
  if (!json) return;
  if (kind_of(*json) != JsonKind::kObject) return fields.fail(field, *json, "give an object of texts");
  const auto members = scan_object(*json);
  if (!members.ok()) return fields.fail(members.error());
  for (const JsonMember& member : *members) {
    const std::string name = unescape_json(fmt::format("\"{}\"", member.key));
    if (kind_of(member.value) != JsonKind::kString) return fields.fail(field, member.value, "give a text");
    std::string value = unescape_json(member.value);
    // The loader's variables change what a program is; HORAE_ is Horae's own.
    if (!is_variable_name(name) || name.starts_with("LD_") || name.starts_with("HORAE_") || has_nul(value)) {
      return fields.fail_text(field, name, "give names of letters, digits and _ that do not begin with LD_ or HORAE_");
    }
    to.emplace_back(name, std::move(value));
  }
}

void read_time(FieldReader& fields, std::string_view field, std::optional<Duration>& to) {
  to = fields.duration(field);
  if (to && (*to <= Duration::zero() || *to > kMaxRunTime)) {
    fields.fail_text(field, format_duration(*to), "give a time above 0s, a year at most");
  }
}

void read_success_codes(FieldReader& fields, std::vector<int>& to) {
  const auto items = fields.array("success_codes");
  if (!items) return;
  to.clear();
  for (const std::string_view item : *items) {
    const bool is_code = !item.empty() && item.size() <= 3 &&
                         std::ranges::all_of(item, [](unsigned char c) { return std::isdigit(c) != 0; });
    const int code = is_code ? std::stoi(std::string(item)) : 256;
    if (code > 255) return fields.fail("success_codes", item, "give whole numbers of 0 to 255");
    to.push_back(code);
  }
  if (to.empty()) fields.fail("success_codes", "[]", "give at least one");
}

struct LimitField {
  std::string_view name;
  int resource;
};

constexpr LimitField kLimits[] = {
    {"cpu_seconds", RLIMIT_CPU},
    {"memory_bytes", RLIMIT_AS},
    {"open_files", RLIMIT_NOFILE},
    {"file_bytes", RLIMIT_FSIZE},
};

void read_limits(FieldReader& fields, std::vector<ResourceLimit>& to) {
  const auto json = fields.present_json("limits");
  if (!json) return;
  FieldReader limits(*json, {kLimits[0].name, kLimits[1].name, kLimits[2].name, kLimits[3].name}, "limits.");
  for (const LimitField& limit : kLimits) {
    const auto value = limits.integer(limit.name);
    if (!value) continue;
    if (*value <= 0) limits.fail(limit.name, std::to_string(*value), "give a number above 0");
    to.push_back({.resource = limit.resource, .value = static_cast<std::uint64_t>(*value)});
  }
  if (limits.fault()) fields.fail(*limits.fault());
}

Result<void> check_argv(const std::vector<std::string>& argv) {
  if (argv.empty() || argv.front().empty() || argv.size() > kMaxArguments) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("argv: give the program and at most {} arguments", kMaxArguments - 1)};
  }
  if (std::ranges::any_of(argv, has_nul)) return Error{ErrorCode::kMalformed, "argv: a NUL character cannot be passed"};
  return {};
}

}  // namespace

Result<ExecSpec> read_exec_spec(std::string_view spec) {
  FieldReader fields(spec, {"run", "argv", "cwd", "env", "stdin", "secrets", "timeout", "progress_timeout", "grace",
                            "success_codes", "limits"});
  fields.require("argv");
  ExecSpec read;
  read.argv = fields.texts("argv").value_or(std::vector<std::string>());
  read.folder = fields.text("cwd").value_or("");
  if (!read.folder.empty() && (!read.folder.starts_with('/') || has_nul(read.folder))) {
    fields.fail_text("cwd", read.folder, "give an absolute path");
  }
  read_variables(fields, "env", read.environment);
  read.input = fields.text("stdin").value_or("");
  read_variables(fields, "secrets", read.secrets);
  read_time(fields, "timeout", read.timeout);
  read_time(fields, "progress_timeout", read.progress_timeout);
  read_time(fields, "grace", read.grace);
  read_success_codes(fields, read.success_codes);
  read_limits(fields, read.limits);
  if (fields.fault()) return *fields.fault();
  if (auto checked = check_argv(read.argv); !checked.ok()) return checked.error();
  return read;
}

}  // namespace horae::agent
