#include "observe/change_log.h"

#include "base/uuid.h"

namespace horae {
namespace {

// Empty for events that are not logged.
std::string_view words_for(Event event) {
  switch (event) {
    case Event::kSubmit:
      return "task submitted";
    case Event::kClaim:
      return "task claimed";
    case Event::kComplete:
      return "task completed";
    case Event::kAbort:
      return "task aborted";
    case Event::kYield:
      return "task yielded";
    case Event::kRelease:
      return "task released";
    case Event::kExpire:
      return "lease of task expired";
    case Event::kCancel:
      return "task cancelled";
    case Event::kHeartbeat:
    case Event::kPromote:
    case Event::kPurge:
      return {};
  }
  return {};
}

}  // namespace

void ChangeLog::on_changes(std::span<const Change> changes) {
  if (!log_.enabled(LogLevel::kDebug)) return;
  for (const Change& change : changes) {
    const std::string_view words = words_for(change.event);
    if (change.kind != Change::Kind::kTask || !change.is_new || words.empty()) continue;
    log_.debug(words, {{std::string(kTaskField), to_string(change.task)},
                       {"queue", change.queue},
                       {"state", change.state ? to_string(*change.state) : std::string_view()}});
  }
}

}  // namespace horae
