#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <thread>

#include "base/json_text.h"
#include "base/time_text.h"

namespace horae {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;

struct World {
  explicit World(LogFormat format = LogFormat::kText, LogLevel level = LogLevel::kInfo)
      : log(out, clock, {.level = level, .format = format}) {}

  std::string written() const { return out.str(); }

  ManualClock clock;
  std::ostringstream out;
  Logger log;
};

std::string as_text(const LogValue& value) {
  std::string out;
  value.append_as_text(out);
  return out;
}

std::string as_json(const LogValue& value) {
  std::string out;
  value.append_as_json(out);
  return out;
}

TEST(Log, WritesALineOfTextForPeople) {
  World world;
  world.clock.advance(4ms);
  world.log.warn("lease expired", {{std::string(kTaskField), "0190f7c2"}, {"attempt", 3}});
  EXPECT_EQ(world.written(), "2026-11-16T00:00:00.004Z WARN  lease expired task=0190f7c2 attempt=3\n");
}

TEST(Log, WritesALineOfJsonForMachines) {
  World world(LogFormat::kJson);
  world.clock.advance(4ms);
  world.log.warn("lease expired", {{"task", "0190f7c2"}, {"attempt", 3}, {"late", true}});
  EXPECT_EQ(world.written(), R"({"time":"2026-11-16T00:00:00.004Z","level":"warn","message":"lease expired",)"
                             R"("task":"0190f7c2","attempt":3,"late":true})"
                             "\n");
}

TEST(Log, AlwaysWritesMillisecondsAndTruncatesTheRest) {
  World world;
  world.log.info("a");
  world.clock.advance(1s - 1us);
  world.log.info("b");
  EXPECT_EQ(world.written(), "2026-11-16T00:00:00.000Z INFO  a\n2026-11-16T00:00:00.999Z INFO  b\n");
}

TEST(Log, AddsTheFieldsOfTheLoggerBeforeThoseOfTheLine) {
  World world;
  const Logger node = world.log.with({{"node", "node-1"}});
  const Logger agent = node.with({{"agent", "mail"}, {"slot", 2}});
  agent.info("start", {{"task", 7}});
  node.info("stop");
  world.log.info("end");
  EXPECT_EQ(world.written(),
            "2026-11-16T00:00:00.000Z INFO  start node=node-1 agent=mail slot=2 task=7\n"
            "2026-11-16T00:00:00.000Z INFO  stop node=node-1\n"
            "2026-11-16T00:00:00.000Z INFO  end\n");
}

TEST(Log, WritesOnlyLinesOfItsLevelAndAbove) {
  const std::vector<std::pair<LogLevel, std::string>> table = {
      {LogLevel::kDebug, "DEBUG INFO WARN ERROR "},
      {LogLevel::kInfo, "INFO WARN ERROR "},
      {LogLevel::kWarn, "WARN ERROR "},
      {LogLevel::kError, "ERROR "},
      {LogLevel::kOff, ""},
  };
  for (const auto& [level, expected] : table) {
    World world(LogFormat::kText, level);
    world.log.debug("x");
    world.log.info("x");
    world.log.warn("x");
    world.log.error("x");

    std::istringstream lines(world.written());
    std::string seen;
    std::string time;
    std::string name;
    std::string message;
    while (lines >> time >> name >> message) seen += name + ' ';
    EXPECT_EQ(seen, expected);
    for (const auto& [other, unused] : table) {
      EXPECT_EQ(world.log.enabled(other), other >= level && other != LogLevel::kOff);
    }
  }
}

TEST(Log, NamesTheLevelInJson) {
  World world(LogFormat::kJson, LogLevel::kDebug);
  world.log.debug("x");
  world.log.error("x");
  EXPECT_THAT(world.written(), HasSubstr(R"("level":"debug")"));
  EXPECT_THAT(world.written(), HasSubstr(R"("level":"error")"));
}

TEST(Log, QuotesTextThatWouldNotBeOneWord) {
  EXPECT_EQ(as_text("node-1"), "node-1");
  EXPECT_EQ(as_text("Grüße"), "Grüße");
  EXPECT_EQ(as_text(R"(C:\tmp)"), R"(C:\tmp)");
  EXPECT_EQ(as_text(""), R"("")");
  EXPECT_EQ(as_text("two words"), R"("two words")");
  EXPECT_EQ(as_text("a=b"), R"("a=b")");
  EXPECT_EQ(as_text(R"(say "hi")"), R"("say \"hi\"")");
  EXPECT_EQ(as_text("a\nb"), R"("a\nb")");
  EXPECT_EQ(as_text("\x1b[2J"), R"("\u001b[2J")");
  EXPECT_EQ(as_text("a\xff"), "\"a\ufffd\"");
}

TEST(Log, QuotesAMessageThatCouldBeTakenForFields) {
  World world;
  world.log.info("it says a=b", {{"a key", 1}});
  world.log.info("first\nsecond");
  world.log.info("");
  EXPECT_EQ(world.written(),
            "2026-11-16T00:00:00.000Z INFO  \"it says a=b\" \"a key\"=1\n"
            "2026-11-16T00:00:00.000Z INFO  \"first\\nsecond\"\n"
            "2026-11-16T00:00:00.000Z INFO  \"\"\n");
}

TEST(Log, EscapesMessagesAndKeysInJson) {
  World world(LogFormat::kJson);
  world.log.info("say \"hi\"\n", {{"a\"b", "c\"d"}});
  EXPECT_THAT(world.written(), EndsWith(R"("message":"say \"hi\"\n","a\"b":"c\"d"})"
                                        "\n"));
}

TEST(Log, WritesNumbersOfEveryKindInFull) {
  const std::vector<std::pair<LogValue, std::string>> table = {
      {0, "0"},
      {-1, "-1"},
      {std::numeric_limits<std::int64_t>::min(), "-9223372036854775808"},
      {std::numeric_limits<std::uint64_t>::max(), "18446744073709551615"},
      {std::size_t{7}, "7"},
      {std::uint8_t{200}, "200"},
      {0.1, "0.1"},
      {1.5F, "1.5"},
      {1e300, "1e+300"},
      {true, "true"},
      {false, "false"},
  };
  for (const auto& [value, expected] : table) {
    EXPECT_EQ(as_text(value), expected);
    EXPECT_EQ(as_json(value), expected);
  }
}

TEST(Log, WritesNullWhereJsonHasNoNumber) {
  for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) EXPECT_EQ(as_json(value), "null");
  EXPECT_EQ(as_text(std::nan("")), "nan");
  EXPECT_EQ(as_text(-HUGE_VAL), "-inf");
}

TEST(Log, WritesALineForAnyClockReading) {
  World world;
  for (int step = 0; step < 40; ++step) world.clock.step_wall(24h * 365 * 250);
  world.log.info("far ahead");
  EXPECT_EQ(world.written(), "9999-12-31T23:59:59.999Z INFO  far ahead\n");
}

TEST(Log, ReadsTheNamesOfTheLevels) {
  EXPECT_EQ(*parse_log_level("debug"), LogLevel::kDebug);
  EXPECT_EQ(*parse_log_level("info"), LogLevel::kInfo);
  EXPECT_EQ(*parse_log_level("warn"), LogLevel::kWarn);
  EXPECT_EQ(*parse_log_level("error"), LogLevel::kError);
  EXPECT_EQ(*parse_log_level("off"), LogLevel::kOff);
  for (const std::string text : {"", "WARN", "warning", "info "}) {
    const auto level = parse_log_level(text);
    ASSERT_FALSE(level.ok()) << text;
    EXPECT_EQ(level.error().code, ErrorCode::kMalformed);
    EXPECT_THAT(level.error().message,
                HasSubstr('"' + text + "\": unknown; the levels are debug, info, warn, error, off"));
  }
}

TEST(Log, KeepsLinesOfSeveralThreadsWhole) {
  World world;
  {
    std::vector<std::jthread> threads;
    for (int id = 0; id < 4; ++id) {
      threads.emplace_back([log = world.log.with({{"thread", id}})] {
        for (int i = 0; i < 200; ++i) log.info("line", {{"text", std::string(100, 'x')}});
      });
    }
  }
  std::istringstream lines(world.written());
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    ++count;
    ASSERT_EQ(line.size(), std::string("2026-11-16T00:00:00.000Z INFO  line thread=0 text=").size() + 100);
    ASSERT_THAT(line, EndsWith(" text=" + std::string(100, 'x')));
  }
  EXPECT_EQ(count, 800);
}

// ---- Bounds ----

TEST(Log, CutsALongTextAndSaysHowLongItIs) {
  const std::string path(10'000, 'x');
  EXPECT_EQ(as_text(path), '"' + path.substr(0, kMaxLogText) + "... (10000 bytes)\"");
  EXPECT_EQ(as_json(path), as_text(path));
  EXPECT_EQ(as_text(path.substr(0, kMaxLogText)), path.substr(0, kMaxLogText));
  const std::string quotes(10'000, '"');
  EXPECT_LT(as_json(quotes).size(), kMaxLogText + 100) << "the bound is on what is written";
  const std::string controls(10'000, '\x01');
  EXPECT_LT(as_text(controls).size(), kMaxLogText + 100);
  std::string grinning;
  for (int i = 0; i < 1000; ++i) grinning += "\xF0\x9F\x98\x80";
  EXPECT_EQ(as_json(grinning), '"' + grinning.substr(0, kMaxLogText) + "... (4000 bytes)\"") << "whole characters";
}

TEST(Log, BoundsALineAndCountsTheFieldsThatItOmits) {
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    World world(format);
    const std::string text(5000, 'x');
    const Logger log = world.log.with({{"a", text}, {"b", text}, {"c", text}, {"d", text}});
    log.info(text, {{"e", text}, {"f", text}, {"g", text}, {"h", text}, {"i", 1}});
    const std::string line = world.written();
    EXPECT_LT(line.size(), kMaxLogLine + 100);
    EXPECT_THAT(line, HasSubstr(format == LogFormat::kText ? " i=1 omitted=2\n" : "\"i\":1,\"omitted\":2}\n"));
    EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  }
}

std::string any_bytes() {
  const auto bytes = *rc::gen::container<std::vector<int>>(
      rc::gen::oneOf(rc::gen::inRange(0, 256), rc::gen::element<int>(' ', '=', '"', '\\', '\n', 'a', 0xc3, 0xa9)));
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  return text;
}

// How a text appears in a line: quoted, or unchanged, which is only allowed without `marks` in it.
std::string form_at(std::string_view place, const std::string& text, std::string_view marks) {
  std::string quoted;
  append_json_string(quoted, text);
  if (place.starts_with(quoted)) return quoted;
  RC_ASSERT(place.starts_with(text));
  RC_ASSERT(!text.empty() && text.find_first_of(marks) == std::string::npos);
  return text;
}

RC_GTEST_PROP(Log, WritesOneLineOfTextThatCanBeParsedForAnyBytes, ()) {
  const std::string message = any_bytes();
  const std::string key = any_bytes();
  const std::string value = any_bytes();
  World world;
  world.log.info(message, {{key, value}});
  const std::string line = world.written();

  RC_ASSERT(line.back() == '\n');
  RC_ASSERT(std::none_of(line.begin(), line.end() - 1, [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
  std::string_view rest = line;
  rest.remove_prefix(std::string_view("2026-11-16T00:00:00.000Z INFO  ").size());
  rest.remove_prefix(form_at(rest, message, "=\"").size());
  RC_ASSERT(rest.starts_with(' '));
  rest.remove_prefix(1);
  rest.remove_prefix(form_at(rest, key, " =\"").size());
  RC_ASSERT(rest.starts_with('='));
  rest.remove_prefix(1);
  rest.remove_prefix(form_at(rest, value, " =\"").size());
  RC_ASSERT(rest == "\n");
}

RC_GTEST_PROP(Log, WritesOneLineOfJsonForAnyBytes, ()) {
  const std::string text = any_bytes();
  World world(LogFormat::kJson);
  world.log.info(text, {{text, text}});

  std::string quoted;
  append_json_string(quoted, text);
  RC_ASSERT(world.written() == R"({"time":"2026-11-16T00:00:00.000Z","level":"info","message":)" + quoted + ',' +
                                   quoted + ':' + quoted + "}\n");
}

}  // namespace
}  // namespace horae
