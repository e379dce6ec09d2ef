#include "tests/store_contract/model_backend.h"

#include "tests/store_contract/model_store.h"

namespace horae::testing {
namespace {

class ModelBackend final : public Backend {
 public:
  Store& store() override { return store_; }
  void advance(Duration by) override { clock_.advance(by); }
  void step_clock(Duration by) override { clock_.step_wall(by); }
  bool reopen() override { return false; }

 private:
  ManualClock clock_;
  ModelStore store_{clock_};
};

}  // namespace

std::unique_ptr<Backend> make_model_backend() { return std::make_unique<ModelBackend>(); }

}  // namespace horae::testing
