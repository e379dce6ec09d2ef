#include "tests/store_contract/contract.h"
#include "tests/store_contract/sqlite_backend.h"

namespace horae::testing {

HORAE_STORE_CONTRACT((BackendMaker{"sqlite", make_sqlite_backend, make_sqlite_memory_backend}))

}  // namespace horae::testing
