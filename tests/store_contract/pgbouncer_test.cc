#include "tests/store_contract/contract.h"
#include "tests/store_contract/postgres_backend.h"

namespace horae::testing {

HORAE_STORE_CONTRACT((BackendMaker{"pgbouncer", make_pgbouncer_backend}))

}  // namespace horae::testing
