// A store, whole: one database behind the interfaces of this folder.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "store/cluster_store.h"
#include "store/message_store.h"
#include "store/queue_store.h"
#include "store/schedule_store.h"
#include "store/task_store.h"
#include "store/token_store.h"

namespace horae {

// Agents will join as a further interface.
class Store {
 public:
  virtual ~Store() = default;

  virtual TaskStore& tasks() = 0;
  virtual QueueStore& queues() = 0;
  virtual MessageStore& messages() = 0;
  virtual ScheduleStore& schedules() = 0;
  virtual TokenStore& tokens() = 0;
  virtual ClusterStore& cluster() = 0;

  // Whether the store can take new tasks at this moment, as far as it can find out. kUnavailable says what is missing:
  // mostly room on its disk. It writes something that nobody sees: call it rarely, after a write was refused.
  virtual Result<void> probe_writes() { return {}; }

  // "sqlite 3.40.1 at horae-data/horae.db": for logs and people.
  virtual std::string description() const = 0;
};

}  // namespace horae
