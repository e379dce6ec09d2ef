// What a store must offer so that the suite can run against it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "store/store.h"

namespace horae::testing {

// One store with an empty database and a clock that only the test moves. The clock starts at the beginning of a second.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual Store& store() = 0;

  // Lets the store's clock go on. `by` is not negative and a whole number of microseconds.
  virtual void advance(Duration by) = 0;

  // Sets the store's clock, in either direction.
  virtual void step_clock(Duration by) = 0;

  // Closes the store and opens it again on the same data: what a crash and a restart leave. False if there is nothing
  // to reopen (a store in memory).
  virtual bool reopen() = 0;
};

// How the suite names a store and makes one. Each test makes its own.
struct BackendMaker {
  std::string name;
  std::function<std::unique_ptr<Backend>()> make;
  std::function<std::unique_ptr<Backend>()> make_quick = make;  // without durability, for tests that make hundreds
};

}  // namespace horae::testing
