// kill -9 at any moment: nothing acknowledged is lost, and no attempt is handed out twice.

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "tests/crash/any_store.h"
#include "tests/crash/judgement.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

TEST(SqliteCrash, KillsAtAnyMomentLoseNothingAndRepeatNoAttempt) {
  const TemporaryFolder folder;
  const std::string url = "sqlite:" + folder.path() + "/horae.db";
  SeededRandom random(20261116);
  WorkerLog log;
  for (int kill = 0; kill < kills(); ++kill) {
    RunningWorker worker({STORE_WORKER, url}, log);
    ASSERT_TRUE(worker.wait_for_acknowledgements(random.below(60))) << "the worker ended by itself";
  }

  const SystemClock clock;
  const auto store = std::move(open_any_store(url, clock)).value();
  expect_kept(*store, log, Counts::kExact);
}

}  // namespace
}  // namespace horae::testing
