#include "agent/processes/process_request.h"

#include <gtest/gtest.h>

namespace horae::agent {
namespace {

ProcessRequest some_request() {
  return {.program = "/bin/true",
          .argv = {"true", "", "two words"},
          .environment = {"A=1", "B="},
          .folder = "/tmp",
          .user = UserIds{.user = 65534, .group = 65533, .groups = {1, 2}},
          .limits = {{.resource = 7, .value = ~std::uint64_t{0}}}};
}

TEST(ProcessRequest, IsReadBackAsItWas) {
  EXPECT_EQ(read_process_request(to_bytes(some_request())).value(), some_request());
  const ProcessRequest plain{.program = "/bin/true", .argv = {"true"}, .environment = {}, .folder = "/"};
  EXPECT_EQ(read_process_request(to_bytes(plain)).value(), plain);
}

TEST(ProcessRequest, IsRefusedIfItIsCutOffOrTooLong) {
  const std::string bytes = to_bytes(some_request());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(read_process_request(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(read_process_request(bytes + "x").ok());
  EXPECT_FALSE(read_process_request(std::string(bytes.size(), '\xff')).ok());
}

}  // namespace
}  // namespace horae::agent
