// Generates certificates for tests.
#pragma once

#include <string>

#include "http/server.h"

namespace horae::testing {

enum class KeyKind { kEc, kRsa };

// Writes NAME.crt and NAME.key into the folder: a self-signed certificate for 127.0.0.1 with the common name `name`.
TlsOptions write_certificate(const std::string& folder, const std::string& name, KeyKind kind = KeyKind::kEc);

}  // namespace horae::testing
