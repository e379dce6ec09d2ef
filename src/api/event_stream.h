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

// Which events a reader receives.
struct EventFilter {
  std::optional<TaskId> task;
  std::optional<std::string> queue;
  Scope scope;  // of its access token; null: all queues
};

// The position in "worker-7:123", an event id of this node. Nothing if the text is not one.
std::optional<std::uint64_t> parse_event_id(std::string_view text, std::string_view node);

// A stream of events:
//   id: worker-7:123
//   event: task
//   data: {"task":"...","state":"running","queue":"mail"}
// and, where events may have been lost, one named `resync`: the reader must fetch the state of its tasks again. While
// there are no events, a comment every few seconds keeps the connection alive.
//
// It is over once `may_go_on` is false, which next() asks first: its reader lost the right to read.
//
// next() from one thread at a time; the ring may wake the stream from any thread.
class EventStream final : public BodyStream {
 public:
  // Begins after the event `last`; without one, with the next event. The ring and the clock must outlive the stream.
  EventStream(
      EventRing& ring, const Clock& clock, std::string node, EventFilter filter, std::optional<std::uint64_t> last,
      std::function<bool()> may_go_on = [] { return true; });
  ~EventStream() override;

  // `resume` is called when there are new events.
  void begin(std::function<void()> resume);

  std::string next() override;
  bool is_over() const override { return is_over_; }

 private:
  // The text of the event; empty if the filter drops it.
  std::string event_of(const EventRing::Numbered& each);
  std::string resync(std::uint64_t number) const;
  std::string id_line(std::uint64_t number) const;

  EventRing& ring_;
  const Clock& clock_;
  const std::string node_;
  const EventFilter filter_;
  const std::function<bool()> may_go_on_;
  const bool has_missed_;  // `last` is of another node, or of an earlier run of this one
  std::uint64_t position_;
  MonotonicTime last_sent_;
  bool is_new_ = true;
  bool is_over_ = false;
  EventRing::ReaderId reader_ = 0;
};

}  // namespace horae
