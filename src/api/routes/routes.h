// The parts of the route table, by resource. Private to the folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/route.h"
#include "model/task.h"

namespace horae {

std::vector<Route> task_routes();      // /v1/tasks
std::vector<Route> worker_routes();    // /v1/workers, /v1/claim, /v1/settle
std::vector<Route> queue_routes();     // /v1/queues, /v1/scheduler
std::vector<Route> delay_routes();     // /v1/delay
std::vector<Route> schedule_routes();  // /v1/schedules
std::vector<Route> cluster_routes();   // /v1/events, /v1/nodes, /v1/tasks/{id}/explain
std::vector<Route> token_routes();     // /v1/tokens
std::vector<Route> compat_routes();    // /tasks, /scheduler: for clients of two earlier schedulers
std::vector<Route> node_routes();      // /healthz, /readyz, /metrics, /openapi.json, /docs

// The id in the path; if it is malformed, answers the call and returns nothing.
std::optional<TaskId> id_in_path(const Call& call);

// `what` names the task: "task 0190f7c2-...".
Error no_such_task(const std::string& what);

// The task in a request of a client of the task management system. kMalformed or kRefused; the error names the field.
Result<NewTask> read_schedule_request(std::string_view body);

}  // namespace horae
