// horae task submit.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/commands.h"

namespace horae::cli {

struct NewTaskFlags {
  std::string queue;
  std::string spec;  // JSON; "@FILE" for the content of a file, "-" for standard input
  std::optional<std::string> sleep;
  std::optional<std::string> id;
  std::optional<std::string> key;
  std::optional<std::int64_t> priority;
  std::optional<std::string> at;
  std::optional<std::string> in;
  std::optional<std::string> every;
  std::optional<std::int64_t> max_attempts;
  std::optional<std::string> retry;
  std::optional<std::string> retry_delay;
};

// The body of POST /v1/tasks with that id (if empty, the node makes one) and the exact bytes of the spec. kMalformed if
// the spec is not JSON or a time is invalid. Reads `in` if the spec is "-".
Result<std::string> submit_body(const NewTaskFlags& flags, const std::string& id, Instant now, std::istream& in);

void add_submit(CLI::App& noun, Context& context);

}  // namespace horae::cli
