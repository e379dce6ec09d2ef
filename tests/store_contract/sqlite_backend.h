// The embedded store on a temporary file, with a clock that the test moves.
#pragma once

#include <memory>

#include "tests/store_contract/backend.h"

namespace horae::testing {

std::unique_ptr<Backend> make_sqlite_backend();

// The same without a file.
std::unique_ptr<Backend> make_sqlite_memory_backend();

}  // namespace horae::testing
