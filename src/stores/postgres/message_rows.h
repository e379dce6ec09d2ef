// What those that read and change messages share: values on their way to the server and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "store/message_store.h"
#include "stores/postgres/connection/rows.h"

namespace horae::postgres {

// As a bigint.
std::int64_t limit_of(std::size_t max);

// Only texts can be in the store; the server takes no others, not even to look for them. No message has the empty one.
std::string_view text_or_nothing(std::string_view id);

// From column `first` on: id, deadline, key, value, headers.
Result<Message> read_message(const Row& row, int first);

// From two columns: the partition, or null, and the offset.
std::optional<RecordPlace> read_place(const Row& row, int column);

}  // namespace horae::postgres
