#include "stores/postgres/cache/database_identity.h"

#include <utility>

namespace horae::postgres {

Result<void> DatabaseIdentity::admit(const Connection& connection) {
  const std::lock_guard lock(mutex_);
  if (incarnation_.empty()) incarnation_ = connection.incarnation();
  if (incarnation_ == connection.incarnation() && !database_changed_) return {};
  database_changed_ = true;
  return Error{ErrorCode::kUnavailable,
               "PostgreSQL was started again, or another database has taken its place: what was known of it is being "
               "read again"};
}

// Whoever has waited while another one tried takes its answer: a server that hangs costs all of them its time once.
Result<void> DatabaseIdentity::move() {
  const std::uint64_t seen = attempts_;
  const std::lock_guard one_at_a_time(moving_);
  if (!database_changed_) return {};
  if (attempts_ == seen) {
    last_attempt_ = try_to_move();
    ++attempts_;
  }
  return last_attempt_;
}

Result<void> DatabaseIdentity::try_to_move() {
  auto prepared = prepare_();
  if (!prepared.ok()) {
    // Whatever is wrong with the database, the calls are in order and may come again.
    return Error{ErrorCode::kUnavailable, prepared.error().message};
  }
  const std::unique_lock lock(in_use_);
  forget_();
  const std::lock_guard admission(mutex_);
  incarnation_ = std::move(*prepared);
  ++moves_;
  database_changed_ = false;
  return {};
}

}  // namespace horae::postgres
