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

// What the flags say.
struct NewTaskFlags {
  std::string queue;
  std::string spec;  // JSON; "@FILE" for what is in a file, "-" for what comes in
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

// The body of POST /v1/tasks under that id (the node makes one if it is empty), with the spec as its exact bytes.
// kMalformed for a spec that is not JSON or a time that is none. `in` is read where the spec says "-".
Result<std::string> submit_body(const NewTaskFlags& flags, const std::string& id, Instant now, std::istream& in);

void add_submit(CLI::App& noun, Context& context);

}  // namespace horae::cli
