// Counts and times one kind of call of the store. Private to the folder.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <new>
#include <string_view>

#include "base/clock.h"
#include "base/meter.h"
#include "base/result.h"

namespace horae {

// horae_store_calls_total{operation,result}, horae_store_call_seconds{operation}, horae_store_batch_items{operation}.
// An operation is published from its first call on. Thread-safe.
class CallMeter {
 public:
  // The name must live as long as the program; the meter and the clock must outlive this.
  CallMeter(Meter& meter, const Clock& clock, std::string_view operation)
      : meter_(meter), clock_(clock), operation_(operation) {}

  // Returns the result of `call`; kUnavailable if it throws std::bad_alloc, which would end the thread of its caller.
  // `items`: of its batch, if it takes one.
  template <typename Call>
  auto measured(std::size_t items, const Call& call) -> decltype(call()) {
    const MonotonicTime begun = clock_.now();
    auto result = attempt(call);
    record(result.ok(), items, clock_.now() - begun);
    return result;
  }

  template <typename Call>
  auto measured(const Call& call) -> decltype(call()) {
    return measured(0, call);
  }

 private:
  template <typename Call>
  static auto attempt(const Call& call) -> decltype(call()) {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      return Error{ErrorCode::kUnavailable, "this node has no memory for this call: retry later, or ask for less"};
    }
  }

  void record(bool ok, std::size_t items, Duration took);
  void look_up();
  Histogram& batch_items();

  Meter& meter_;
  const Clock& clock_;
  const std::string_view operation_;
  std::once_flag looked_up_;
  Counter* succeeded_ = nullptr;  // written once, under looked_up_
  Histogram* seconds_ = nullptr;  // written once, under looked_up_
  std::once_flag looked_up_items_;
  Histogram* items_ = nullptr;  // written once, under looked_up_items_
};

}  // namespace horae
