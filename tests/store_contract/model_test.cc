#include "tests/store_contract/contract.h"
#include "tests/store_contract/model_backend.h"

namespace horae::testing {

HORAE_STORE_CONTRACT((BackendMaker{"model", make_model_backend}))

}  // namespace horae::testing
