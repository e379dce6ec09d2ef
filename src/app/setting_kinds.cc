#include "app/setting_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/duration.h"
#include "base/quote.h"
#include "http/listen_address.h"

namespace horae {
namespace {

constexpr std::array<std::string_view, 5> kLevels = {"debug", "info", "warn", "error", "off"};
constexpr std::array<std::string_view, 2> kFormats = {"text", "json"};
constexpr std::array<std::string_view, 2> kTruths = {"false", "true"};
constexpr std::array<std::string_view, 3> kUnsafe = {"fsync", "full_page_writes", "synchronous_commit"};

Error bad(std::string why) { return {ErrorCode::kMalformed, std::move(why)}; }

// "1,000,000": readable at a glance.
std::string with_commas(std::int64_t number) {
  if (number < 1'000) return std::to_string(number);
  return fmt::format("{},{:03}", with_commas(number / 1'000), number % 1'000);
}

// What read() of a single value is given.
Result<std::string> single(const std::vector<std::string>& items) {
  if (items.size() == 1) return items.front();
  return bad("is no single value");
}

Result<std::int64_t> parse_number(const std::string& text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return bad("is not a whole number");
  return number;
}

template <typename T>
Setting any_number(const SettingText& text, NumberBounds bounds, Member<T> member) {
  return {.key = text.key,
          .kind = SettingKind::kNumber,
          .help = text.help,
          .allowed = fmt::format("{} to {}", with_commas(bounds.least), with_commas(bounds.most)),
          .seeds = text.seeds,
          .read = [bounds, member](Config& config, const std::vector<std::string>& items) -> Result<void> {
            const auto value = single(items);
            if (!value.ok()) return value.error();
            const auto number = parse_number(*value);
            if (!number.ok()) return number.error();
            if (*number < bounds.least || *number > bounds.most) return bad("is out of range");
            member(config) = static_cast<T>(*number);
            return {};
          },
          .write =
              [member](const Config& config) {
                Config copy = config;
                return std::vector{std::to_string(member(copy))};
              }};
}

// An enumeration whose values are the places in `words`.
template <typename T, std::size_t kCount>
Setting word_setting(const SettingText& text, const std::array<std::string_view, kCount>& words, Member<T> member) {
  return {.key = text.key,
          .kind = SettingKind::kText,
          .help = text.help,
          .allowed = fmt::format("{}", fmt::join(words, ", ")),
          .seeds = text.seeds,
          .read = [&words, member](Config& config, const std::vector<std::string>& items) -> Result<void> {
            const auto value = single(items);
            if (!value.ok()) return value.error();
            const auto found = std::ranges::find(words, *value);
            if (found == words.end()) return bad("is unknown");
            member(config) = static_cast<T>(found - words.begin());
            return {};
          },
          .write =
              [&words, member](const Config& config) {
                Config copy = config;
                return std::vector{std::string(words.at(static_cast<std::size_t>(member(copy))))};
              }};
}

}  // namespace

Setting text_setting(const SettingText& text, std::string allowed, CheckText check, Member<std::string> member) {
  return {.key = text.key,
          .kind = SettingKind::kText,
          .help = text.help,
          .allowed = std::move(allowed),
          .seeds = text.seeds,
          .read = [check, member](Config& config, const std::vector<std::string>& items) -> Result<void> {
            const auto value = single(items);
            if (!value.ok()) return value.error();
            if (auto checked = check(*value); !checked.ok()) return checked;
            member(config) = *value;
            return {};
          },
          .write =
              [member](const Config& config) {
                Config copy = config;
                return std::vector{member(copy)};
              }};
}

Setting list_setting(const SettingText& text, std::string allowed, ListBounds bounds, CheckText check,
                     Member<std::vector<std::string>> member) {
  return {.key = text.key,
          .kind = SettingKind::kList,
          .help = text.help,
          .allowed = std::move(allowed),
          .seeds = text.seeds,
          .read = [bounds, check, member](Config& config, const std::vector<std::string>& items) -> Result<void> {
            if (items.size() < bounds.least || items.size() > bounds.most) {
              return bad(fmt::format("has {} items", items.size()));
            }
            for (const std::string& item : items) {
              if (auto checked = check(item); !checked.ok()) return checked;
              if (std::ranges::count(items, item) > 1) return bad(fmt::format("names {} twice", quote(item)));
            }
            member(config) = items;
            return {};
          },
          .write =
              [member](const Config& config) {
                Config copy = config;
                return member(copy);
              }};
}

Setting duration_setting(const SettingText& text, DurationBounds bounds, std::vector<Member<Duration>> members) {
  const Member<Duration> first = members.front();
  return {.key = text.key,
          .kind = SettingKind::kDuration,
          .help = text.help,
          .allowed = fmt::format("{} to {}", format_duration(bounds.least), format_duration(bounds.most)),
          .seeds = text.seeds,
          .read = [bounds, members = std::move(members)](Config& config,
                                                         const std::vector<std::string>& items) -> Result<void> {
            const auto value = single(items);
            if (!value.ok()) return value.error();
            const auto duration = parse_duration(*value);
            if (!duration.ok()) return bad("is no duration such as 50ms, 10s or 1h30m");
            if (*duration < bounds.least || *duration > bounds.most) return bad("is out of range");
            for (const Member<Duration> member : members) member(config) = *duration;
            return {};
          },
          .write =
              [first](const Config& config) {
                Config copy = config;
                return std::vector{format_duration(first(copy))};
              }};
}

Setting number_setting(const SettingText& text, NumberBounds bounds, Member<int> member) {
  return any_number(text, bounds, member);
}

Setting number_setting(const SettingText& text, NumberBounds bounds, Member<std::size_t> member) {
  return any_number(text, bounds, member);
}

Setting bool_setting(const SettingText& text, Member<bool> member) {
  Setting setting = word_setting(text, kTruths, member);
  setting.kind = SettingKind::kBool;
  return setting;
}

Setting log_level_setting(const SettingText& text, Member<LogLevel> member) {
  return word_setting(text, kLevels, member);
}

Setting log_format_setting(const SettingText& text, Member<LogFormat> member) {
  return word_setting(text, kFormats, member);
}

Result<void> check_folder(std::string_view path) {
  if (path.empty()) return bad("is empty");
  return {};
}

// Whether it may be open to other machines depends on other settings, and is checked when all are known.
Result<void> check_listen_address(std::string_view address) {
  const auto parsed = parse_listen_address(address);
  if (!parsed.ok()) return parsed.error();
  return {};
}

Result<void> check_any(std::string_view /*text*/) { return {}; }

Result<void> check_unsafe_name(std::string_view name) {
  if (std::ranges::find(kUnsafe, name) != kUnsafe.end()) return {};
  return bad(fmt::format("has {}, which is no such setting", quote(name)));
}

}  // namespace horae
