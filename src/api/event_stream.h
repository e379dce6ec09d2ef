// Server-sent events for one reader.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "http/responder.h"
#include "model/queue_scope.h"
#include "observe/event_ring.h"

namespace horae {

// What a reader wants to hear of.
struct EventFilter {
  std::optional<TaskId> task;
  std::optional<std::string> queue;
  Scope scope;  // of its token; null: all queues
};

// "worker-7:123": where a reader of that node stands. Nothing for what is no such id.
std::optional<std::uint64_t> parse_event_id(std::string_view text, std::string_view node);

// A stream of events:
//   id: worker-7:123
//   event: task
//   data: {"task":"...","state":"running","queue":"mail"}
// and, where something may have been missed, one named `resync`: look at what you care about again. A comment now and
// then shows that the stream is alive.
//
// Threads: next() one at a time; the ring wakes it from any.
class EventStream final : public BodyStream {
 public:
  // Begins after the event `last`; with nothing, now. The ring and the clock must outlive the stream.
  EventStream(EventRing& ring, const Clock& clock, std::string node, EventFilter filter,
              std::optional<std::uint64_t> last);
  ~EventStream() override;

  // `resume` is called when there is something new.
  void begin(std::function<void()> resume);

  std::string next() override;

 private:
  // Nothing if it does not matter to the reader; else the text of the event.
  std::string event_of(const EventRing::Numbered& each);
  std::string resync(std::uint64_t number) const;
  std::string id_line(std::uint64_t number) const;

  EventRing& ring_;
  const Clock& clock_;
  const std::string node_;
  const EventFilter filter_;
  const bool has_missed_;  // it comes from another node, or from another life of this one
  std::uint64_t position_;
  MonotonicTime last_sent_;
  bool is_new_ = true;
  EventRing::ReaderId reader_ = 0;
};

}  // namespace horae
