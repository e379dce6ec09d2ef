#include "tests/store_contract/contract.h"
#include "tests/store_contract/postgres_backend.h"

namespace horae::testing {

HORAE_STORE_CONTRACT((BackendMaker{"postgres", make_postgres_backend}))

}  // namespace horae::testing
