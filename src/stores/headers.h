// The headers of a message as one blob: for each its name and its value with their lengths, so that any bytes come back
// as they were.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/message.h"

namespace horae {

std::string encode_headers(const std::vector<MessageHeader>& headers);

// kInternal if the blob is damaged.
Result<std::vector<MessageHeader>> decode_headers(std::string_view blob);

}  // namespace horae
