// Who calls, and what that one may do.
#pragma once

#include <string>

#include "model/queue_scope.h"
#include "store/token_store.h"

namespace horae {

// What a route needs. A route that says nothing is for admins.
enum class Access {
  kAdmin,   // change queues, the scheduler and tokens
  kOpen,    // anybody, also without a token
  kRead,    // look
  kSubmit,  // submit and cancel
  kWork,    // claim and settle
};

// read: kRead; submit: kRead, kSubmit; work: kRead, kWork; admin: all.
bool may(Role role, Access access);

// The holder of a token; or whoever calls from this machine, who needs none: then the id is empty and the role kAdmin.
struct Principal {
  std::string token_id = {};
  std::string name = {};
  Role role = Role::kAdmin;
  Scope scope = {};  // null: all queues

  bool allows(std::string_view queue) const { return horae::allows(scope, queue); }
};

}  // namespace horae
