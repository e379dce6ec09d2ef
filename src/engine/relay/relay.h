// The relay of one delay queue: from its source through the store to its sink.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/relay/firing.h"
#include "engine/relay/intake.h"
#include "engine/relay/recovery.h"
#include "engine/relay/relay_context.h"
#include "engine/relay/relay_status.h"
#include "engine/relay/turn.h"

namespace horae {

// What a delay queue is connected to.
struct RelayEnds {
  std::unique_ptr<Source> source;  // nothing: messages come by put alone
  std::unique_ptr<Sink> output;
  std::unique_ptr<Sink> dead_letters;  // nothing: there are none
};

// Four loops (source.h, intake.h, turn.h, firing.h and recovery.h say what each does). Run them on all nodes; nothing but
// the store coordinates them. A crash at any moment loses nothing:
//
//   after                          leaves
//   take()                         the record is read again
//   insert, before done()          the record is read again: repeated; a duplicate if it was fired meanwhile
//   late publish, before done()    a duplicate
//   readying                       another node takes over after hold time and detection interval
//   publish, before removal        the same, and a duplicate
//   removal                        nothing
//
// Thread-safe; each loop by one thread at a time.
class Relay {
 public:
  // The wakes are called from any thread, as long as the relay or its ends live.
  Relay(const RelayWorld& world, const RelayOptions& options, RelayEnds ends, const RelayWakes& wakes);

  // The loops, in the order of their start. No intake if there is no source.
  struct Loops {
    Loop* firing = nullptr;
    Loop* turn = nullptr;
    Loop* recovery = nullptr;
    Loop* intake = nullptr;
  };
  Loops loops();

  const std::string& queue() const { return context_.options.queue; }

  // Messages were put, cancelled or moved: run the turn soon.
  void on_put() { context_.wake.turn(); }

  // True if the queue had no rows lately: a look that it shares with others finds out when it has some.
  bool is_idle() const { return turn_.is_idle(); }
  void on_look(MonotonicTime now, const DelayLook& look);
  void on_failed_look(MonotonicTime now) { recovery_.on_idle_look(now, true); }

  // Before the stop: takes in nothing more, gives back what is not due, and lets the rest end, as long as the loops are
  // driven. Cannot be undone.
  void drain();

  // True if nothing is left to do; what is left otherwise is taken over by another node.
  bool is_drained() const;

  RelayStatus status() const;

 private:
  RelayEnds ends_;
  RelayContext context_;
  Firing firing_;
  Turn turn_;
  Recovery recovery_;
  std::optional<Intake> intake_;
};

}  // namespace horae
