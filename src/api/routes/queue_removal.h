// DELETE /v1/queues/{queue}.
#pragma once

#include <memory>

#include "api/api.h"

namespace horae {

// Deletes the queue that the path names, and answers the call. It does so in steps, each of which waits for a read
// thread as any other read does. A client that disconnects, or a node that stops, leaves the rest undone; the same
// call continues it.
void delete_queue(Api& api, const std::shared_ptr<Call>& call);

}  // namespace horae
