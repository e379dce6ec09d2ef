// The caller of a request, and what it may do.
#pragma once

#include <memory>
#include <string>

#include "model/queue_scope.h"
#include "store/submission.h"
#include "store/token_store.h"

namespace horae {

// The access that a route requires. The default is for admins only.
enum class Access {
  kAdmin,   // change queues, the scheduler and tokens
  kOpen,    // every caller, also without a token
  kRead,    // read
  kSubmit,  // submit and cancel
  kWork,    // claim and settle
};

// read: kRead; submit: kRead, kSubmit; work: kRead, kWork; admin: all.
bool may(Role role, Access access);

// The holder of a token; or a caller on this machine, which needs none: then the id is empty and the role kAdmin.
struct Principal {
  std::string token_id = {};
  std::string name = {};
  Role role = Role::kAdmin;
  Scope scope = {};                                      // null: all queues
  std::shared_ptr<const QueueAllowance> allowance = {};  // how many queues it may make; null: no limit of its own

  bool allows(std::string_view queue) const { return horae::allows(scope, queue); }
};

// True if both have the same role and the same scope.
bool have_same_rights(const Principal& a, const Principal& b);

}  // namespace horae
