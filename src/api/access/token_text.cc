#include "api/access/token_text.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/check.h"

namespace horae {
namespace {

constexpr std::string_view kBeginning = "horae_";
constexpr std::string_view kIdBeginning = "t-";
constexpr std::size_t kIdDigits = 12;
constexpr std::size_t kIdLength = kIdBeginning.size() + kIdDigits;
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kSecretLength = 43;  // of kSecretBytes in base64url without padding
constexpr std::size_t kTextLength = kBeginning.size() + kIdLength + 1 + kSecretLength;

constexpr std::string_view kHexadecimal = "0123456789abcdef";
constexpr std::string_view kBase64Url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// RFC 4648, section 5, without padding.
std::string base64url(const std::array<std::uint8_t, kSecretBytes>& bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;  // of bits that are not written yet
  for (const std::uint8_t byte : bytes) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 6; count -= 6) text += kBase64Url[bits >> (count - 6) & 63];
  }
  text += kBase64Url[bits << (6 - count) & 63];
  return text;
}

std::array<std::uint8_t, kSecretBytes> random_bytes(Random& random) {
  std::array<std::uint8_t, kSecretBytes> bytes{};
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t drawn = random.next();
    for (std::size_t j = 0; j < sizeof drawn; ++j, drawn >>= 8) bytes.at(i + j) = static_cast<std::uint8_t>(drawn);
  }
  return bytes;
}

TokenHash hash_of(std::string_view text) {
  static const EVP_MD* const kAlgorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  TokenHash hash{};
  unsigned length = 0;
  const int done = EVP_Digest(text.data(), text.size(), hash.data(), &length, kAlgorithm, nullptr);
  HORAE_CHECK(done == 1 && length == hash.size(), "OpenSSL provides SHA-256");
  return hash;
}

bool has_only(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

}  // namespace

NewSecret make_secret(Random& random) {
  NewSecret made{.id = fmt::format("{}{:012x}", kIdBeginning, random.next() >> 16), .text = {}};
  made.text = fmt::format("{}{}_{}", kBeginning, made.id, base64url(random_bytes(random)));
  HORAE_CHECK(made.text.size() == kTextLength, "all secrets have the same length");
  made.hash = hash_of(made.text);
  return made;
}

Result<ReadSecret> read_secret(std::string_view text) {
  const Error malformed{ErrorCode::kMalformed,
                        "this is not a token of Horae, which looks like horae_t-3f9a0c51d2e4_..."};
  if (text.size() != kTextLength || !text.starts_with(kBeginning)) return malformed;
  const std::string_view id = text.substr(kBeginning.size(), kIdLength);
  const std::string_view separator = text.substr(kBeginning.size() + kIdLength, 1);
  const std::string_view secret = text.substr(kTextLength - kSecretLength);
  const bool is_id = id.starts_with(kIdBeginning) && has_only(id.substr(kIdBeginning.size()), kHexadecimal);
  if (!is_id || separator != "_" || !has_only(secret, kBase64Url)) return malformed;
  return ReadSecret{.id = id, .hash = hash_of(text)};
}

bool are_same(const TokenHash& one, const TokenHash& other) {
  return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace horae
