#include "tests/engine/claimer.h"
#include "tests/engine/node.h"
#include "tests/store_contract/model_backend.h"
#include "tests/store_contract/sqlite_backend.h"

namespace horae::testing {
namespace {

const BackendMaker kModel{"model", make_model_backend};
const BackendMaker kSqlite{"sqlite", make_sqlite_backend};

}  // namespace

#define HORAE_EACH_STORE(fixture)                                         \
  INSTANTIATE_TEST_SUITE_P(, fixture, ::testing::Values(kModel, kSqlite), \
                           [](const auto& each) { return each.param.name; });
HORAE_EACH_STORE(PromoterLoop)
HORAE_EACH_STORE(ScheduleLoops)
HORAE_EACH_STORE(MonitorLoop)
HORAE_EACH_STORE(ClaimerLoop)
HORAE_EACH_STORE(ClaimerOutage)
HORAE_EACH_STORE(ClusterPollerLoop)
HORAE_EACH_STORE(DispatcherLoops)
HORAE_EACH_STORE(DispatcherCrash)
HORAE_EACH_STORE(ElevatorLoop)
HORAE_EACH_STORE(SlotLoops)
HORAE_EACH_STORE(UpkeepLoop)

}  // namespace horae::testing
