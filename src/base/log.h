// Structured logging: a message for people and fields for machines.
//
//   log.warn("lease expired", {{"task", to_string(id)}, {"attempt", 3}});
//
// as text:  2026-11-16T02:13:57.004Z WARN  lease expired node=node-1 task=0190f7c2-... attempt=3
// as JSON:  {"time":"2026-11-16T02:13:57.004Z","level":"warn","message":"lease expired","node":"node-1",...}
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace horae {

// A line is bounded, whatever its callers pass: of each text (the message, a key, a value) at most kMaxLogText bytes are
// written, and then how many it has; fields that would make the line longer than kMaxLogLine are left out and counted in
// a last field `omitted`.
inline constexpr std::size_t kMaxLogText = 1024;
inline constexpr std::size_t kMaxLogLine = 8192;

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };
enum class LogFormat { kText, kJson };

// Reads "debug", "info", "warn", "error", "off".
Result<LogLevel> parse_log_level(std::string_view text);

// A boolean, a number or text. Text may hold any bytes: they are escaped, and what is not UTF-8 becomes U+FFFD.
class LogValue {
 public:
  LogValue(std::string text) : held_(std::move(text)) {}                        // NOLINT(google-explicit-constructor)
  LogValue(std::string_view text) : held_(std::string(text)) {}                 // NOLINT(google-explicit-constructor)
  LogValue(const char* text) : held_(std::string(text)) {}                      // NOLINT(google-explicit-constructor)
  LogValue(bool value) : held_(value) {}                                        // NOLINT(google-explicit-constructor)
  LogValue(double value) : held_(value) {}                                      // NOLINT(google-explicit-constructor)
  LogValue(std::signed_integral auto value) : held_(std::int64_t{value}) {}     // NOLINT(google-explicit-constructor)
  LogValue(std::unsigned_integral auto value) : held_(std::uint64_t{value}) {}  // NOLINT(google-explicit-constructor)

  // Text with spaces, '=', quotes or control characters in it is quoted like a JSON string.
  void append_as_text(std::string& out) const;

  // Numbers that JSON cannot represent (infinity, NaN) become null.
  void append_as_json(std::string& out) const;

 private:
  std::variant<std::string, bool, double, std::int64_t, std::uint64_t> held_;
};

// Common keys, so that one search finds every line about a task or a node.
inline constexpr std::string_view kNodeField = "node";
inline constexpr std::string_view kTaskField = "task";
inline constexpr std::string_view kAgentField = "agent";

struct LogField {
  std::string key;
  LogValue value;
};

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
};

// A cheap handle; copies share one sink. Each line is written atomically and flushed, so that it survives a crash of
// the program. A line that cannot be written (a full disk) is dropped: logging never fails its caller.
//
// Thread-safe.
class Logger {
 public:
  // Writes to `out`, with times from `clock`. Both must outlive all copies of the logger.
  Logger(std::ostream& out, const Clock& clock, LogOptions options = {});

  // A logger that adds `fields` to each of its lines, after the fields of this one.
  Logger with(std::vector<LogField> fields) const;

  void debug(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void info(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void warn(std::string_view message, std::initializer_list<LogField> fields = {}) const;
  void error(std::string_view message, std::initializer_list<LogField> fields = {}) const;

  // True if lines of that level are written.
  bool enabled(LogLevel level) const;

 private:
  struct Sink;
  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) const;
  std::string text_line(std::string_view time, LogLevel level, std::string_view message,
                        std::initializer_list<LogField> fields) const;
  std::string json_line(std::string_view time, LogLevel level, std::string_view message,
                        std::initializer_list<LogField> fields) const;
  void append_fields(std::string& line, std::initializer_list<LogField> fields,
                     void (*append)(std::string& line, const LogField& field)) const;

  std::shared_ptr<Sink> sink_;
  std::vector<LogField> fields_;
};

}  // namespace horae
