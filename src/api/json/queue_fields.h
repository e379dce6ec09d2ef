// The fields of a queue: its settings, changes to them, and its counts. As in task_fields.h, a member without a row
// does not compile.
#pragma once

#include "api/json/fields.h"
#include "store/queue_store.h"

namespace horae {

extern const FieldTable<QueueSettings> kQueueSettingsFields;  // written, after the queue's name
extern const FieldTable<QueueChange> kQueueChangeFields;      // read; its caller checks by check_queue_change()
extern const FieldTable<QueueInfo> kQueueCountFields;         // written, after the settings

}  // namespace horae
