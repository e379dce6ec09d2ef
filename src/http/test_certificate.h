// Certificates for tests, made on the spot.
#pragma once

#include <string>

#include "http/server.h"

namespace horae::testing {

// Writes NAME.crt and NAME.key into the folder: a certificate for 127.0.0.1 that vouches for itself, and whose common
// name is `name`.
TlsOptions write_certificate(const std::string& folder, const std::string& name);

}  // namespace horae::testing
