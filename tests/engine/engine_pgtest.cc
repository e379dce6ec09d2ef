#include "tests/engine/claimer.h"
#include "tests/engine/node.h"
#include "tests/store_contract/postgres_backend.h"

namespace horae::testing {

HORAE_ENGINE_TESTS((BackendMaker{"postgres", make_postgres_backend}))

}  // namespace horae::testing
