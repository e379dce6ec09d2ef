// The fields of a task, of what belongs to it, and of what clients and workers send about it.
//
// A field that is new to one of these types needs a row in task_fields.cc, and nothing else here: without it, that file
// does not compile.
#pragma once

#include "api/json/fields.h"
#include "model/history.h"
#include "model/task.h"
#include "store/lease.h"

namespace horae {

extern const FieldTable<NewTask> kNewTaskFields;        // read; its caller checks the values by check_new_task()
extern const FieldTable<Task> kTaskFields;              // written; all but the history
extern const FieldTable<Task> kTaskHistoryFields;       // written; a list leaves them out
extern const FieldTable<LeasedTask> kLeasedTaskFields;  // written
extern const FieldTable<Settlement> kSettlementFields;  // read; its caller checks the values by check_settlement()

// Parts of the above.
extern const FieldTable<RetryPolicy> kRetryFields;
extern const FieldTable<TaskError> kTaskErrorFields;
extern const FieldTable<HistoryEntry> kHistoryEntryFields;

}  // namespace horae
