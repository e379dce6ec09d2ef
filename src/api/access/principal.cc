#include "api/access/principal.h"

namespace horae {

bool may(Role role, Access access) {
  switch (access) {
    case Access::kAdmin:
      return role == Role::kAdmin;
    case Access::kOpen:
    case Access::kRead:
      return true;
    case Access::kSubmit:
      return role == Role::kAdmin || role == Role::kSubmit;
    case Access::kWork:
      return role == Role::kAdmin || role == Role::kWork;
  }
  return false;
}

bool have_same_rights(const Principal& a, const Principal& b) {
  if (a.role != b.role) return false;
  return a.scope && b.scope ? *a.scope == *b.scope : a.scope == b.scope;
}

}  // namespace horae
