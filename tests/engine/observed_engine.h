// An engine on the observed store, as a node composes them: what changes through store() wakes the loops.
#pragma once

#include <string>

#include "engine/engine.h"
#include "observe/observed_store.h"
#include "store/change.h"
#include "store/combiner.h"

namespace horae::testing {

class ObservedEngine {
 public:
  ObservedEngine(Store& store, const Clock& clock, Random& random, const std::string& owner, const Logger& log,
                 const EngineOptions& options)
      : store_(store, no_meter(), clock, observers_),
        combiner_(store_.tasks()),
        engine_(store_, combiner_, clock, random, owner, log, options) {
    observers_.add(engine_);
    combiner_.start();
  }
  ~ObservedEngine() { combiner_.stop(); }
  ObservedEngine(const ObservedEngine&) = delete;
  ObservedEngine& operator=(const ObservedEngine&) = delete;

  Store& store() { return store_; }
  Engine& engine() { return engine_; }

 private:
  ChangeObservers observers_;
  ObservedStore store_;
  Combiner combiner_;
  Engine engine_;
};

}  // namespace horae::testing
