// A store by its URL.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "store/store.h"
#include "stores/postgres/postgres_store.h"

namespace horae {

inline constexpr const char* kDefaultStore = "sqlite:horae-data/horae.db";

// "sqlite:PATH" (its folder is made if it does not exist, readable for its owner only) or "postgresql://...". The clock
// is that of an embedded store and must outlive it.
Result<std::unique_ptr<Store>> open_store(const std::string& url, const Clock& clock,
                                          const PostgresStoreOptions& postgres = {});

// kMalformed: the URL is of no kind that Horae knows.
Error unknown_store(const std::string& url);

// For people and their logs: the places where a URL may have a password are masked, rather too much than too little.
std::string without_password(const std::string& url);

}  // namespace horae
