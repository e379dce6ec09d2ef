// Laws of the secret text of a token for any bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/access/token_text.h"
#include "laws.h"

namespace horae {
namespace {

void require_laws_of_reading(std::string_view text, const ReadSecret& read) {
  HORAE_CHECK(text.starts_with("horae_" + std::string(read.id) + "_"), "the id is the part after the beginning");
  HORAE_CHECK(text.find_first_of(std::string_view("\0\r\n ", 4)) == std::string_view::npos, "a secret is one word");
  std::string other(text);
  other.back() = other.back() == 'A' ? 'B' : 'A';
  const auto read_other = read_secret(other);
  HORAE_CHECK(read_other.ok() && !are_same(read_other->hash, read.hash), "another secret has another hash");
}

}  // namespace
}  // namespace horae

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = horae::read_secret(text);
  if (read.ok()) {
    horae::require_laws_of_reading(text, *read);
  } else {
    horae::require_good_refusal(read.error());
  }
  return 0;
}
