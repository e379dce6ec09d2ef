#include "stores/postgres/memory.h"

#include <utility>

namespace horae::postgres {

Result<void> Memory::admit(const Connection& connection) {
  const std::lock_guard lock(mutex_);
  if (incarnation_.empty()) incarnation_ = connection.incarnation();
  if (incarnation_ == connection.incarnation()) return {};
  is_elsewhere_ = true;
  return Error{ErrorCode::kUnavailable,
               "PostgreSQL was started again, or another database has taken its place: what was known of it is being "
               "read again"};
}

Result<void> Memory::move() {
  const std::lock_guard one_at_a_time(moving_);
  if (!is_elsewhere_) return {};  // somebody else did it
  const std::unique_lock lock(in_use_);
  forget_();
  auto moved = move_();
  if (!moved.ok()) return moved.error();
  const std::lock_guard admission(mutex_);
  incarnation_ = std::move(*moved);
  is_elsewhere_ = false;
  return {};
}

}  // namespace horae::postgres
