// Writes tasks, queues and outcomes as JSON. Specs, results, checkpoints and the args of errors are written as the
// exact bytes that were submitted.
//
// Each function appends one value to `out`. Absent values are null, so that the shape is always the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/problems.h"
#include "model/task.h"
#include "store/lease.h"
#include "store/list.h"
#include "store/queue_store.h"
#include "store/submission.h"

namespace horae {

// A whole task; tasks of a list come without their history.
void append_task(std::string& out, const Task& task, bool with_history = true);

// {"tasks":[...],"next":"CURSOR" or null,"as_of":TIME}
void append_page(std::string& out, const Page& page);

// A task as a worker receives it.
void append_leased_task(std::string& out, const LeasedTask& task);

// {"id","state","outcome":"created" or "present"}
void append_submitted(std::string& out, const SubmitOutcome& outcome);

// {"id","verdict","state","attempt","owner","lease_expires"}, and "problem" if it was refused
void append_settled(std::string& out, const Settlement& settlement, const SettleOutcome& outcome);

// {"id","verdict","state"}, and "problem" if it was refused
void append_cancelled(std::string& out, const CancelWish& wish, const CancelOutcome& outcome);

// The outcome of an item that failed: {"id" or null,"problem":{...}}
void append_failed_item(std::string& out, const std::string& id, const ProblemKind& kind, const std::string& detail);

void append_queue(std::string& out, const QueueInfo& queue);
void append_queue_settings(std::string& out, std::string_view name, const QueueSettings& settings);

}  // namespace horae
