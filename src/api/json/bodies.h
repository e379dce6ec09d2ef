// Parses the bodies that clients and workers send into the types of the engine and the stores.
//
// Errors are kMalformed where the text cannot be parsed, kRefused where a value is not allowed; they name the field,
// its value and what is allowed. What is parsed here passes the checks of the stores (check_new_task(), ...).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/task.h"
#include "store/lease.h"
#include "store/queue_store.h"

namespace horae {

inline constexpr Duration kMaxWait = std::chrono::seconds(30);  // of a long poll

// The items of a batch: the array `field` of the object that is the body, 1 to kMaxBatch of them. `also` names a second
// field that is allowed beside it. The items belong to `body`.
Result<std::vector<std::string_view>> read_batch(std::string_view body, std::string_view field,
                                                 std::string_view also = {});

Result<NewTask> read_new_task(std::string_view json);

struct ClaimBody {
  ClaimWish wish;   // `once` if the caller gave a token, so that this may be a repetition
  Duration wait{};  // 0 to kMaxWait
};
Result<ClaimBody> read_claim(std::string_view body);

// The caller sets `chance` and `scope`. Without an owner it is that of `owner`, if that is not empty.
Result<Settlement> read_settlement(std::string_view json, std::string_view owner = {});

// What one worker settles and claims in one call.
struct ExchangeBody {
  std::string owner;
  std::vector<std::string_view> settlements;  // JSON, for read_settlement(); parts of the body
  std::optional<ClaimWish> claim;
  Duration wait{};  // 0 to kMaxWait; zero if it settles anything
};
Result<ExchangeBody> read_exchange(std::string_view body);

// The reason of a cancel; the body may be empty. `also` names a second field that is allowed beside it.
Result<std::optional<std::string>> read_cancel_reason(std::string_view body, std::string_view also = {});

// `item` is a JSON string: one of the ids in a batch of cancels.
Result<TaskId> read_task_id(std::string_view item);

// The id that an item of a batch names, as text, although something else about the item is wrong; empty if it names
// none. The item is JSON.
std::string id_in(std::string_view item);

Result<QueueChange> read_queue_change(std::string_view body);

}  // namespace horae
