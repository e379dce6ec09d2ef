#include "base/text/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace horae {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> make_digits() {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    digits.at(static_cast<unsigned char>(kAlphabet[i])) = static_cast<std::uint8_t>(i);
  }
  return digits;
}
constexpr std::array<std::uint8_t, 256> kDigits = make_digits();

std::uint32_t byte_at(std::string_view bytes, std::size_t i) {
  return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t group = byte_at(bytes, i) << 16U | byte_at(bytes, i + 1) << 8U | byte_at(bytes, i + 2);
    text += kAlphabet[group >> 18U];
    text += kAlphabet[group >> 12U & 63U];
    text += i + 1 < bytes.size() ? kAlphabet[group >> 6U & 63U] : '=';
    text += i + 2 < bytes.size() ? kAlphabet[group & 63U] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view digits = text.substr(0, text.size() - padding);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t rest = 0;
  unsigned bits = 0;
  for (const char c : digits) {
    const std::uint8_t digit = kDigits.at(static_cast<unsigned char>(c));
    if (digit == kNoDigit) return std::nullopt;
    rest = (rest << 6U | digit) & 0xFFFU;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(rest >> bits & 0xFFU);
  }
  if ((rest & ((1U << bits) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace horae
