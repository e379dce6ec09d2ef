#include "engine/cluster/peer_message.h"

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

// Takes "4:mail" from the front of `rest`; nothing if it is incomplete.
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

void set_flag(PeerMessage& message, char kind) {
  if (kind == 'a') message.wake_ups.ready_anywhere = true;
  if (kind == 'c') message.wake_ups.cancelled = true;
  if (kind == 'x') message.wake_ups.control = true;
  if (kind == 'l') message.events_lost = true;
}

// One item without the space before it. False if it cannot be read.
bool take_item(std::string_view& rest, PeerMessage& message) {
  if (rest.empty()) return false;
  const char kind = rest.front();
  rest.remove_prefix(1);
  if (rest.empty() || rest.front() == ' ') {
    set_flag(message, kind);
    return true;
  }
  auto text = take_text(rest);
  if (!text) return false;
  if (kind == 'q') message.wake_ups.ready.push_back(std::move(*text));
  if (kind == 'w') message.wake_ups.cancelled_owners.push_back(std::move(*text));
  if (kind == 'e') message.events.push_back(std::move(*text));
  return true;
}

}  // namespace

std::string format_peer_message(const PeerMessage& message) {
  std::string text(kVersion);
  append_text(text, "", message.from);
  for (const std::string& queue : message.wake_ups.ready) append_text(text, "q", queue);
  if (message.wake_ups.ready_anywhere) text += " a";
  if (message.wake_ups.cancelled) text += " c";
  for (const std::string& owner : message.wake_ups.cancelled_owners) append_text(text, "w", owner);
  if (message.wake_ups.control) text += " x";
  if (message.events_lost) text += " l";
  for (const std::string& event : message.events) append_text(text, "e", event);
  return text;
}

std::size_t peer_item_bytes(std::string_view text) { return fmt::formatted_size(" q{}:", text.size()) + text.size(); }

std::size_t peer_frame_bytes(std::string_view from) { return kVersion.size() + peer_item_bytes(from) + kFlags.size(); }

std::optional<PeerMessage> parse_peer_message(std::string_view text) {
  PeerMessage message;
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
