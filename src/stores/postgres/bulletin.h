// Messages between nodes, by LISTEN and NOTIFY.
#pragma once

#include <memory>
#include <string>

#include "store/cluster_store.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

// Listens on a connection of its own, with a thread that sleeps until the server sends something. Sends through the
// pool, which must outlive the bulletin. Destroying it waits for the end of the call of `heard` that is under way.
std::unique_ptr<Bulletin> make_bulletin(const std::string& url, Pool& pool, Bulletin::Heard heard);

}  // namespace horae::postgres
