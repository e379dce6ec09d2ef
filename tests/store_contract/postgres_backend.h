// The store on PostgreSQL, with a clock that the test moves.
#pragma once

#include <memory>

#include "tests/store_contract/backend.h"

namespace horae::testing {

// The first one starts a server, for the whole process: call it on the main thread.
std::unique_ptr<Backend> make_postgres_backend();

// The same through PgBouncer in transaction mode, which may give each transaction another session.
std::unique_ptr<Backend> make_pgbouncer_backend();

}  // namespace horae::testing
