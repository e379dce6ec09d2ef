#include "stores/postgres/cache/database_identity.h"

#include <utility>

namespace horae::postgres {

Result<void> DatabaseIdentity::admit(const Connection& connection) {
  const std::lock_guard lock(mutex_);
  if (incarnation_.empty()) incarnation_ = connection.incarnation();
  if (incarnation_ == connection.incarnation() && !database_changed_) return {};
  database_changed_ = true;
  return Error{
      ErrorCode::kUnavailable,
      "PostgreSQL was restarted, or another database has taken its place: what this node caches of it is being "
      "read again"};
}

// A caller that waited while another thread tried takes the result of that attempt: a server that hangs costs all
// callers its time once, not one after the other.
Result<void> DatabaseIdentity::adopt_database() {
  const std::uint64_t seen = attempts_;
  const std::lock_guard one_at_a_time(adopting_);
  if (!database_changed_) return {};
  if (attempts_ == seen) {
    last_attempt_ = try_to_adopt();
    ++attempts_;
  }
  return last_attempt_;
}

Result<void> DatabaseIdentity::try_to_adopt() {
  auto prepared = prepare_();
  if (!prepared.ok()) {
    // The database is at fault, not the calls: they may be repeated.
    return Error{ErrorCode::kUnavailable, prepared.error().message};
  }
  const std::unique_lock lock(in_use_);
  reset_caches_();
  const std::lock_guard admission(mutex_);
  incarnation_ = std::move(*prepared);
  ++changes_;
  database_changed_ = false;
  return {};
}

}  // namespace horae::postgres
