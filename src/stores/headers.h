// The headers of a message as JSON text, in the form that the column message_headers of Chronos has:
//
//   [{"trace":"1"},{"trace":"2"},{"none":null},{"raw":{"base64":"/wA="}}]
//
// A value that is not text (UTF-8 without NUL) is written in base64. A name that is not text does not occur in Kafka's
// documentation, but in its protocol: [{"base64":"..."},VALUE]. So any bytes come back as they were.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/message.h"

namespace horae {

std::string encode_headers(const std::vector<MessageHeader>& headers);

// kInternal if the text is damaged.
Result<std::vector<MessageHeader>> decode_headers(std::string_view text);

}  // namespace horae
