#include "tests/e2e/node.h"
#include "tests/support/temporary_folder.h"

namespace horae::testing {
namespace {

class SqliteStore final : public NodeStore {
 public:
  std::vector<std::string> flags() const override { return {"--store", "sqlite:" + folder_.path() + "/horae.db"}; }

 private:
  const TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(, NodeOn,
                         ::testing::Values(NodeStoreMaker{"sqlite", [] { return std::make_unique<SqliteStore>(); }}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace horae::testing
