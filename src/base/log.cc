#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "base/json_text.h"
#include "base/quote.h"
#include "base/time_text.h"
#include "base/utf8.h"

namespace horae {
namespace {

struct LevelName {
  std::string_view lower;
  std::string_view padded;
};

// In the order of LogLevel.
constexpr std::array<LevelName, 5> kLevels{
    {{"debug", "DEBUG"}, {"info", "INFO "}, {"warn", "WARN "}, {"error", "ERROR"}, {"off", "OFF  "}}};

const LevelName& name_of(LogLevel level) { return kLevels.at(static_cast<std::size_t>(level)); }

// True if `text` needs no quotes in a text line: it is not empty, has no spaces at its ends, only printable characters
// and none of `marks`.
bool is_plain(std::string_view text, std::string_view marks) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
  if (text.find_first_of(marks) != std::string_view::npos) return false;
  while (!text.empty()) {
    const Utf8Char character = read_utf8(text);
    if (!character.valid || is_control(character.code)) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

// How many bytes a character takes at most in a JSON string.
std::size_t written_size(const Utf8Char& character) {
  constexpr std::size_t kEscape = 6;       // \u001b
  constexpr std::size_t kShortEscape = 2;  // \"
  constexpr std::size_t kReplacement = 3;  // U+FFFD
  if (!character.valid) return kReplacement;
  if (is_control(character.code)) return kEscape;
  return std::max(character.length, character.code == '"' || character.code == '\\' ? kShortEscape : 1);
}

// `text`, or of a long one its beginning and its size.
std::string bounded(std::string_view text) {
  std::size_t written = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char character = read_utf8(text.substr(at));
    written += written_size(character);
    if (written > kMaxLogText) return fmt::format("{}... ({} bytes)", text.substr(0, at), text.size());
    at += character.length;
  }
  return std::string(text);
}

void append_plain_or_quoted(std::string& out, std::string_view text, std::string_view marks) {
  const std::string shown = bounded(text);
  if (is_plain(shown, marks)) {
    out += shown;
  } else {
    append_json_string(out, shown);
  }
}

constexpr std::string_view kMarksInWord = " =\"";
constexpr std::string_view kMarksInMessage = "=\"";

// Always with milliseconds, so that columns line up. Clamped, so that a clock that is set absurdly still gives a line.
std::string time_text(Instant now) {
  const Instant shown = std::clamp(now, earliest_instant(), latest_instant());
  const auto second = std::chrono::floor<std::chrono::seconds>(shown);
  std::string out = format_instant(second);
  out.pop_back();  // the "Z"
  fmt::format_to(std::back_inserter(out), ".{:03}Z",
                 std::chrono::floor<std::chrono::milliseconds>(shown - second).count());
  return out;
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view text) {
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (text == kLevels[i].lower) return static_cast<LogLevel>(i);
  }
  return Error{ErrorCode::kMalformed,
               fmt::format("log level {}: unknown; the levels are debug, info, warn, error, off", quote(text))};
}

void LogValue::append_as_text(std::string& out) const {
  std::visit(
      [&out](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
          append_plain_or_quoted(out, value, kMarksInWord);
        } else {
          fmt::format_to(std::back_inserter(out), "{}", value);
        }
      },
      held_);
}

void LogValue::append_as_json(std::string& out) const {
  const double* number = std::get_if<double>(&held_);
  if (const auto* text = std::get_if<std::string>(&held_)) {
    append_json_string(out, bounded(*text));
  } else if (number != nullptr && !std::isfinite(*number)) {
    out += "null";  // JSON has no such number, and readers that expect a number would reject a string
  } else {
    append_as_text(out);
  }
}

struct Logger::Sink {
  Sink(std::ostream& out, const Clock& time, LogOptions how)
      : clock(time), options(how), lines("horae", std::make_shared<spdlog::sinks::ostream_sink_mt>(out, true)) {
    lines.set_pattern("%v");
  }

  const Clock& clock;
  const LogOptions options;
  spdlog::logger lines;  // has its own lock
};

Logger::Logger(std::ostream& out, const Clock& clock, LogOptions options)
    : sink_(std::make_shared<Sink>(out, clock, options)) {}

Logger Logger::with(std::vector<LogField> fields) const {
  Logger more = *this;
  std::move(fields.begin(), fields.end(), std::back_inserter(more.fields_));
  return more;
}

void Logger::debug(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::kDebug, message, fields);
}

void Logger::info(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::kInfo, message, fields);
}

void Logger::warn(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::kWarn, message, fields);
}

void Logger::error(std::string_view message, std::initializer_list<LogField> fields) const {
  write(LogLevel::kError, message, fields);
}

bool Logger::enabled(LogLevel level) const { return level != LogLevel::kOff && level >= sink_->options.level; }

void Logger::write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) const {
  if (!enabled(level)) return;
  const std::string time = time_text(sink_->clock.wall_now());
  const std::string line = sink_->options.format == LogFormat::kJson ? json_line(time, level, message, fields)
                                                                     : text_line(time, level, message, fields);
  // enabled() has decided; the level here only has to pass spdlog's own filter.
  sink_->lines.log(spdlog::level::critical, line);
}

std::string Logger::text_line(std::string_view time, LogLevel level, std::string_view message,
                              std::initializer_list<LogField> fields) const {
  std::string line = fmt::format("{} {} ", time, name_of(level).padded);
  append_plain_or_quoted(line, message, kMarksInMessage);
  append_fields(line, fields, [](std::string& out, const LogField& field) {
    out += ' ';
    append_plain_or_quoted(out, field.key, kMarksInWord);
    out += '=';
    field.value.append_as_text(out);
  });
  return line;
}

std::string Logger::json_line(std::string_view time, LogLevel level, std::string_view message,
                              std::initializer_list<LogField> fields) const {
  std::string line = fmt::format(R"({{"time":"{}","level":"{}","message":)", time, name_of(level).lower);
  append_json_string(line, bounded(message));
  append_fields(line, fields, [](std::string& out, const LogField& field) {
    out += ',';
    append_json_string(out, bounded(field.key));
    out += ':';
    field.value.append_as_json(out);
  });
  return line + '}';
}

void Logger::append_fields(std::string& line, std::initializer_list<LogField> fields,
                           void (*append)(std::string& line, const LogField& field)) const {
  std::size_t omitted = 0;
  const auto append_one = [&](const LogField& field) {
    const std::size_t before = line.size();
    append(line, field);
    if (line.size() <= kMaxLogLine) return;
    line.resize(before);
    ++omitted;
  };
  std::for_each(fields_.begin(), fields_.end(), append_one);
  std::for_each(fields.begin(), fields.end(), append_one);
  if (omitted > 0) append(line, {"omitted", omitted});
}

}  // namespace horae
