// What the worker that is killed and its judge share: a store by its URL.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "store/store.h"

namespace horae::testing {

inline constexpr int kWorkerThreads = 3;  // of one store_worker

// "sqlite:PATH" or "postgresql://...". How durable a PostgreSQL is, is left to the test that starts it.
Result<std::unique_ptr<Store>> open_any_store(const std::string& url, const Clock& clock);

}  // namespace horae::testing
