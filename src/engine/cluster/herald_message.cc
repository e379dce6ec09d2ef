#include "engine/cluster/herald_message.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <utility>

namespace horae {
namespace {

constexpr std::string_view kVersion = "horae1";
constexpr std::string_view kFlags = " a c x l";

void append_text(std::string& out, std::string_view kind, std::string_view text) {
  fmt::format_to(std::back_inserter(out), " {}{}:{}", kind, text.size(), text);
}

bool skip(std::string_view& rest, std::string_view expected) {
  if (!rest.starts_with(expected)) return false;
  rest.remove_prefix(expected.size());
  return true;
}

// "4:mail", of which `rest` is left; nothing if it is not there whole.
std::optional<std::string> take_text(std::string_view& rest) {
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
  if (error != std::errc()) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  if (!skip(rest, ":") || rest.size() < length) return std::nullopt;
  std::string text(rest.substr(0, length));
  rest.remove_prefix(length);
  return text;
}

void set_flag(HeraldMessage& message, char kind) {
  if (kind == 'a') message.ready_anywhere = true;
  if (kind == 'c') message.cancelled = true;
  if (kind == 'x') message.control = true;
  if (kind == 'l') message.hints_lost = true;
}

// One item without the space before it. False if it cannot be read.
bool take_item(std::string_view& rest, HeraldMessage& message) {
  if (rest.empty()) return false;
  const char kind = rest.front();
  rest.remove_prefix(1);
  if (rest.empty() || rest.front() == ' ') {
    set_flag(message, kind);
    return true;
  }
  auto text = take_text(rest);
  if (!text) return false;
  if (kind == 'q') message.ready.push_back(std::move(*text));
  if (kind == 'h') message.hints.push_back(std::move(*text));
  return true;
}

}  // namespace

std::string format_herald_message(const HeraldMessage& message) {
  std::string text(kVersion);
  append_text(text, "", message.from);
  for (const std::string& queue : message.ready) append_text(text, "q", queue);
  if (message.ready_anywhere) text += " a";
  if (message.cancelled) text += " c";
  if (message.control) text += " x";
  if (message.hints_lost) text += " l";
  for (const std::string& hint : message.hints) append_text(text, "h", hint);
  return text;
}

std::size_t herald_item_bytes(std::string_view text) { return fmt::formatted_size(" q{}:", text.size()) + text.size(); }

std::size_t herald_frame_bytes(std::string_view from) {
  return kVersion.size() + herald_item_bytes(from) + kFlags.size();
}

std::optional<HeraldMessage> parse_herald_message(std::string_view text) {
  HeraldMessage message;
  if (!skip(text, kVersion) || !skip(text, " ")) return std::nullopt;
  auto from = take_text(text);
  if (!from) return std::nullopt;
  message.from = std::move(*from);
  while (!text.empty()) {
    if (!skip(text, " ") || !take_item(text, message)) return std::nullopt;
  }
  return message;
}

}  // namespace horae
