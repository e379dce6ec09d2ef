// The node's own copy of all tokens, so that authentication needs no query.
#pragma once

#include <cstddef>
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

// refresh() from one thread at a time; everything else is thread-safe.
class TokenBook {
 public:
  static constexpr std::int64_t kNeverRead = -1;

  // `queues_per_pattern`: how many queues a token may make for each pattern of its scope; see Principal::allowance.
  explicit TokenBook(std::size_t queues_per_pattern = kMaxQueuesOfAToken) : queues_per_pattern_(queues_per_pattern) {}

  // Reads all tokens. After a failure the copy is unchanged.
  Result<void> refresh(TokenStore& store);

  // The holder of this secret text; nothing if it is not a token, or one that is not in the copy. Never blocks on the
  // store.
  std::optional<Principal> find(std::string_view secret_text) const;

  // False once the token of this caller is revoked, or has another role or scope than it had when it was found. True of
  // a caller without a token.
  bool is_current(const Principal& principal) const;

  // TokenList::version of the copy: call refresh() if the store's differs. kNeverRead before the first refresh().
  std::int64_t version() const { return page()->version; }

  bool is_empty() const { return page()->entries.empty(); }

 private:
  struct Entry {
    TokenHash hash;
    Principal principal;
  };

  // Immutable: a refresh makes a new one.
  struct Page {
    std::map<std::string, Entry, std::less<>> entries;  // by id
    std::int64_t version = kNeverRead;
  };

  std::shared_ptr<const Page> page() const;

  const std::size_t queues_per_pattern_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Page> page_ = std::make_shared<const Page>();  // guarded by mutex_
};

}  // namespace horae
