// Opens a store by its URL.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "store/store.h"
#include "stores/postgres/postgres_store.h"

namespace horae {

inline constexpr const char* kDefaultStore = "sqlite:horae-data/horae.db";

// "sqlite:PATH" (a missing folder is created, readable by its owner only) or "postgresql://...". An
// embedded store uses the clock, which must outlive it. `max_queues`: how many there may be.
Result<std::unique_ptr<Store>> open_store(const std::string& url, const Clock& clock,
                                          const PostgresStoreOptions& postgres = {},
                                          std::size_t max_queues = kMaxQueues);

// kNotFound if it is embedded and was never made.
Result<void> check_store_exists(const std::string& url);

// kMalformed: Horae supports no store of this kind.
Error unknown_store(const std::string& url);

// What the log should say about the place of this store although it is accepted; nothing if all is well.
std::optional<std::string> store_warning(const std::string& url);

// For logs and messages: every part of the URL that may be a password is masked, in doubt too much.
std::string without_password(const std::string& url);

}  // namespace horae
