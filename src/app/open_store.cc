#include "app/open_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "stores/sqlite/sqlite_store.h"

namespace horae {
namespace {

Result<void> make_folder(const std::string& url) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(url.substr(kSqliteScheme.size())).parent_path();
  if (url == kSqliteMemory || folder.empty()) return {};
  std::error_code failed;
  if (fs::exists(folder, failed)) return {};
  fs::create_directories(folder, failed);
  if (!failed) fs::permissions(folder, fs::perms::owner_all, failed);
  if (failed) {
    return Error{ErrorCode::kRefused, fmt::format("cannot make the folder {} for the data: {}; set data (--data) to a "
                                                  "folder that this user may write to",
                                                  folder.string(), failed.message())};
  }
  return {};
}

constexpr std::string_view kHidden = "***";

// SCHEME://USER:PASSWORD@HOST. The password may hold anything, so it ends at the last @.
std::string without_user_password(std::string url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const std::size_t colon = url.find_first_of(":/?@", scheme + 3);
  const std::size_t at = url.rfind('@');
  if (colon == std::string::npos || url[colon] != ':' || at == std::string::npos || at < colon) return url;
  return url.replace(colon + 1, at - colon - 1, kHidden);
}

// password=... and sslpassword=... of the query.
std::string without_option(std::string url) {
  constexpr std::string_view kName = "password=";
  for (std::size_t value = url.find(kName); value != std::string::npos; value = url.find(kName, value)) {
    const std::size_t before = url.find_last_not_of("abcdefghijklmnopqrstuvwxyz", value - 1);
    value += kName.size();
    if (before == std::string::npos || (url[before] != '?' && url[before] != '&')) continue;
    url.replace(value, std::min(url.find('&', value), url.size()) - value, kHidden);
  }
  return url;
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(const std::string& url, const Clock& clock,
                                          const PostgresStoreOptions& postgres, std::size_t max_queues) {
  if (url.starts_with(kPostgresScheme)) {
    PostgresStoreOptions options = postgres;
    options.max_queues = max_queues;
    return open_postgres_store(url, options);
  }
  if (!url.starts_with(kSqliteScheme)) return unknown_store(url);
  if (auto made = make_folder(url); !made.ok()) return made.error();
  return open_sqlite_store(url, clock, max_queues);
}

Result<void> check_store_exists(const std::string& url) {
  if (!url.starts_with(kSqliteScheme) || url == kSqliteMemory) return {};
  const std::string path = url.substr(kSqliteScheme.size());
  std::error_code failed;
  if (std::filesystem::exists(path, failed)) return {};
  return Error{ErrorCode::kNotFound,
               fmt::format("there is no database {}: check data (--data) and store (--store), and the folder that this "
                           "command runs in",
                           path)};
}

Error unknown_store(const std::string& url) {
  return {ErrorCode::kMalformed,
          fmt::format("store '{}': give sqlite:PATH or postgresql://USER@HOST/DATABASE", without_password(url))};
}

std::optional<std::string> store_warning(const std::string& url) {
  return url.starts_with(kSqliteScheme) ? sqlite_warning(url) : std::nullopt;
}

std::string without_password(const std::string& url) { return without_option(without_user_password(url)); }

}  // namespace horae
