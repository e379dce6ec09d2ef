// Answers a request: later, from any thread, once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "http/message.h"

namespace horae {

// An answer that is written piece by piece, usually without an end. Released when it is over, when the client
// disconnects, or when the server stops.
class BodyStream {
 public:
  virtual ~BodyStream() = default;

  // The next piece (64 KiB at most); empty if there is none at the moment. Called on a thread of the server, one call
  // at a time, after all earlier pieces were passed to the kernel.
  virtual std::string next() = 0;

  // Asked after a next() that was empty: true ends the answer and closes the connection.
  virtual bool is_over() const { return false; }
};

// Takes the answer to one request. If it is destroyed unanswered, the server answers 500.
//
// Thread-safe.
class AnswerSlot {
 public:
  // True once the kernel has taken the whole answer; false if the client is gone. Called exactly once, on any thread,
  // perhaps before answer() returns. An answer that was sent need not have arrived.
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
// Thread-safe.
class Responder {
 public:
  explicit Responder(std::shared_ptr<AnswerSlot> slot) : slot_(std::move(slot)) {}

  // The first answer counts; a second one is dropped, and its `sent` called with false.
  void answer(HttpResponse response, AnswerSlot::Sent sent = {}) const {
    slot_->answer(std::move(response), std::move(sent));
  }

  // Answers with `head`, whose body is empty, and then with the pieces of `body` until the client disconnects. It
  // counts as the answer. Beyond HttpLimits::streams, and while the server stops, it answers 503 and releases `body`. A
  // HEAD request is answered with the head only.
  void stream(HttpResponse head, std::shared_ptr<BodyStream> body) const {
    slot_->stream(std::move(head), std::move(body));
  }

  // Says that the stream's next() has a piece. Cheap: calls that arrive before the connection reacts count as one, and
  // it never calls next() itself. Without it, next() is called every HttpLimits::stream_pulse.
  void resume() const { slot_->resume(); }

  // For long polls: `gone` is called at most once, on a thread of the server, if the client closes its connection (or
  // its half of it) before it is answered. A client that has already sent its next request is not watched.
  void on_gone(std::function<void()> gone) const { slot_->on_gone(std::move(gone)); }

  // True if the client is known to be gone.
  bool is_gone() const { return slot_->is_gone(); }

 private:
  std::shared_ptr<AnswerSlot> slot_;
};

}  // namespace horae
