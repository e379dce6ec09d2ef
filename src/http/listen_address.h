// Where a server listens, as people write it: "127.0.0.1:3369", "https://0.0.0.0:3369", "http://[::1]:3369".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/server.h"

namespace horae {

struct ListenAddress {
  std::string address;  // "127.0.0.1", "::1"
  std::uint16_t port = 0;
  bool is_loopback = false;
  std::optional<bool> says_tls = {};  // by https:// or http:// before it
};

// The error (kMalformed) tells what is wrong with the text, and leaves it to the caller to quote it.
Result<ListenAddress> parse_listen_address(std::string_view text);

// Whether connections to the address are encrypted: as its scheme says, else unless it is loopback or behind a proxy.
bool wants_tls(const ListenAddress& address, const HttpServerOptions& options);

// kMalformed for an address that cannot be read; kRefused if one is open to other machines without TLS and nobody said
// that this is meant, or if TLS lacks its files. The message says which settings mend it.
Result<void> check_exposure(const HttpServerOptions& options);

}  // namespace horae
