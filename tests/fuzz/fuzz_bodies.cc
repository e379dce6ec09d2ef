// Laws of the parsers of request bodies, for any bytes: what is accepted passes the store's checks, and each refusal
// gives a reason.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/access/new_token.h"
#include "api/json/bodies.h"
#include "api/json/message_json.h"
#include "api/routes/routes.h"
#include "base/json_scan.h"
#include "laws.h"
#include "store/submission.h"

namespace horae {
namespace {

template <typename T>
bool is_read(const Result<T>& read) {
  if (read.ok()) return true;
  Error error = read.error();
  HORAE_CHECK(error.code == ErrorCode::kMalformed || error.code == ErrorCode::kRefused, "the request is at fault");
  error.code = ErrorCode::kMalformed;
  require_good_refusal(error);
  return false;
}

void read_all(std::string_view body) {
  const auto task = read_new_task(body);
  if (is_read(task)) {
    HORAE_CHECK(check_new_task(*task).ok(), "what is read can be stored");
    const auto spec = scan_json(task->spec);
    HORAE_CHECK(spec.ok() && *spec == task->spec, "a spec is a part of the body");
    HORAE_CHECK(body.find(task->spec) != std::string_view::npos, "a spec is kept as its bytes");
  }
  const auto claim = read_claim(body);
  if (is_read(claim)) HORAE_CHECK(check_claim_wish(claim->wish).ok(), "what is read can be claimed");
  const auto settlement = read_settlement(body);
  if (is_read(settlement)) HORAE_CHECK(check_settlement(*settlement).ok(), "what is read can be settled");
  const auto scheduled = read_schedule_request(body);
  if (is_read(scheduled)) {
    HORAE_CHECK(check_new_task(*scheduled).ok(), "what is read can be stored");
    HORAE_CHECK(scan_json(scheduled->spec).ok(), "the spec generated from a command is JSON");
  }
  const auto message = read_new_message(body, Instant{}, "made");
  if (is_read(message)) HORAE_CHECK(check_message_id(message->id).ok(), "what is read can be stored");
  (void)is_read(read_message_change(body, Instant{}));
  (void)is_read(read_message_cursor(body));
  (void)is_read(read_token_wish(body));
  (void)is_read(read_cancel_reason(body));
  (void)is_read(read_queue_change(body));
  const auto batch = read_batch(body, "tasks");
  if (!is_read(batch)) return;
  HORAE_CHECK(!batch->empty() && batch->size() <= kMaxBatch, "a batch has its limits");
  for (const std::string_view item : *batch) {
    (void)is_read(read_new_task(item));
    (void)is_read(read_task_id(item));
  }
}

}  // namespace
}  // namespace horae

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  horae::read_all(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
