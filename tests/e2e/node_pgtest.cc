#include "tests/e2e/node.h"
#include "tests/support/postgres_server.h"

namespace horae::testing {
namespace {

class PostgresStore final : public NodeStore {
 public:
  std::vector<std::string> flags() const override {
    return {"--store",
            url_,
            "--postgres-purge-delay",
            "0s",
            "--postgres-allow-unsafe",
            "fsync,full_page_writes,synchronous_commit"};
  }

 private:
  static PostgresServer& server() {
    static PostgresServer one({.durable = false, .settings = {}});
    return one;
  }

  const std::string url_ = server().make_database();
};

INSTANTIATE_TEST_SUITE_P(, NodeOn,
                         ::testing::Values(NodeStoreMaker{"postgres",
                                                          [] { return std::make_unique<PostgresStore>(); }}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace horae::testing
