// Opens a store by its URL, for the worker that is killed and for the test that checks it.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "store/store.h"

namespace horae::testing {

inline constexpr int kWorkerThreads = 3;  // of one store_worker

// "sqlite:PATH" or "postgresql://...". Does not require a PostgreSQL server to be durable: the test decides that.
Result<std::unique_ptr<Store>> open_any_store(const std::string& url, const Clock& clock);

}  // namespace horae::testing
