// The node's own copy of all tokens, so that no request has to ask the store who calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/access/principal.h"
#include "base/result.h"
#include "store/token_store.h"

namespace horae {

// Threads: find(), version() and is_empty() by any at once; refresh() by one at a time.
class TokenBook {
 public:
  static constexpr std::int64_t kNeverRead = -1;

  // Reads all tokens. After a failure the copy stays as it was.
  Result<void> refresh(TokenStore& store);

  // Who shows this secret text; nothing if it is no token, or one that is not in the copy. Does not wait for anything.
  std::optional<Principal> find(std::string_view secret_text) const;

  // TokenList::version of the copy: refresh() if the store has another. kNeverRead before the first refresh().
  std::int64_t version() const { return page()->version; }

  bool is_empty() const { return page()->entries.empty(); }

 private:
  struct Entry {
    TokenHash hash;
    Principal principal;
  };

  // Never changes: a refresh writes a new one.
  struct Page {
    std::map<std::string, Entry, std::less<>> entries;  // by id
    std::int64_t version = kNeverRead;
  };

  std::shared_ptr<const Page> page() const;

  mutable std::mutex mutex_;
  std::shared_ptr<const Page> page_ = std::make_shared<const Page>();  // guarded by mutex_
};

}  // namespace horae
