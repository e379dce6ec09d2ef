// Laws of the command line's parsers of answers, for any bytes: the other end need not be a node.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/client/replies.h"
#include "laws.h"

namespace horae::cli {
namespace {

template <typename T>
bool is_read(const Result<T>& read) {
  if (read.ok()) return true;
  Error error = read.error();
  HORAE_CHECK(error.code == ErrorCode::kInternal, "the node is at fault, not the caller");
  error.code = ErrorCode::kMalformed;
  require_good_refusal(error);
  return false;
}

void read_all(std::string_view json) {
  const auto task = read_task(json);
  if (is_read(task)) HORAE_CHECK(!task->id.empty() || json.find("id") != std::string_view::npos, "a task has an id");
  if (is_read(task)) HORAE_CHECK(check_json(json).ok(), "a task is JSON");
  (void)is_read(read_page(json));
  (void)is_read(read_submitted(json));
  (void)is_read(read_cancelled(json));
  (void)is_read(read_cancel_outcomes(json));
  (void)is_read(read_queue(json));
  (void)is_read(read_queues(json));
  (void)is_read(read_scheduler(json));
  (void)is_read(read_token(json));
  (void)is_read(read_tokens(json));
  (void)is_read(read_explanation(json));
  (void)is_read(read_nodes(json));
  (void)is_read(read_node_status(json));
  if (read_problem(json)) HORAE_CHECK(check_json(json).ok(), "a problem is JSON");
}

}  // namespace
}  // namespace horae::cli

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  horae::cli::read_all(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
