// How a handler answers: later, from any thread, once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "http/message.h"

namespace horae {

// An answer without an end, piece by piece. Released when the client is gone, or when the server stops.
class BodyStream {
 public:
  virtual ~BodyStream() = default;

  // The next piece (64 KiB at most); empty if there is nothing at the moment. Called on a thread of the server, one
  // call at a time, when all before it was handed to the network.
  virtual std::string next() = 0;
};

// The place to which one answer goes. When the last handle is gone and nobody answered, it answers 500 by itself.
//
// Threads: every member may be called from any thread at once.
class AnswerSlot {
 public:
  // True once the answer was handed to the network whole; false if the client is gone. Called exactly once, on any
  // thread, perhaps before answer() returns. That it was sent does not say that it arrived.
  using Sent = std::function<void(bool)>;

  virtual ~AnswerSlot() = default;
  virtual void answer(HttpResponse response, Sent sent) = 0;
  virtual void stream(HttpResponse head, std::shared_ptr<BodyStream> body) = 0;
  virtual void resume() = 0;
  virtual void on_gone(std::function<void()> gone) = 0;
  virtual bool is_gone() const = 0;
};

// A handle that callbacks can copy; all copies belong to one request. It may outlive the server.
//
// Threads: every member may be called from any thread at once.
class Responder {
 public:
  explicit Responder(std::shared_ptr<AnswerSlot> slot) : slot_(std::move(slot)) {}

  // The first answer counts; of a second one only `sent` hears, with false.
  void answer(HttpResponse response, AnswerSlot::Sent sent = {}) const {
    slot_->answer(std::move(response), std::move(sent));
  }

  // Answers with `head`, whose body is empty, and then with the pieces of `body` as long as the client stays. It counts
  // as the answer. Beyond HttpLimits::streams, and while the server stops, it answers 503 and releases `body`. A client
  // that asked with HEAD gets the head only.
  void stream(HttpResponse head, std::shared_ptr<BodyStream> body) const {
    slot_->stream(std::move(head), std::move(body));
  }

  // The stream's next() has something now. Cheap: many calls before the connection gets to it are one, and next() is
  // never called inside of it. Without it, next() is called every HttpLimits::stream_pulse.
  void resume() const { slot_->resume(); }

  // For answers that take long: `gone` is called at most once, on a thread of the server, if the client closes its
  // connection (or its half of it) before it is answered. A client that has sent its next request already is not
  // watched.
  void on_gone(std::function<void()> gone) const { slot_->on_gone(std::move(gone)); }

  // True if the client is known to be gone.
  bool is_gone() const { return slot_->is_gone(); }

 private:
  std::shared_ptr<AnswerSlot> slot_;
};

}  // namespace horae
