// The address of a server as a setting: "127.0.0.1:3369", "https://0.0.0.0:3369", "http://[::1]:3369".
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
  std::optional<bool> says_tls = {};  // https:// or http:// before it
};

// A port alone and "localhost:PORT" mean 127.0.0.1. The error (kMalformed) says what is wrong with the text; the caller
// quotes it.
Result<ListenAddress> parse_listen_address(std::string_view text);

// Whether connections to the address are encrypted: by its scheme; without one, unless it is loopback or behind a
// proxy.
bool wants_tls(const ListenAddress& address, const HttpServerOptions& options);

// kMalformed for an address that cannot be parsed; kRefused if one is open to other machines without TLS and the
// options do not allow that, or if TLS lacks its files. The message names the settings to change.
Result<void> check_exposure(const HttpServerOptions& options);

}  // namespace horae
