// The model store as something that the suite can run against.
#pragma once

#include <memory>

#include "tests/store_contract/backend.h"

namespace horae::testing {

std::unique_ptr<Backend> make_model_backend();

}  // namespace horae::testing
