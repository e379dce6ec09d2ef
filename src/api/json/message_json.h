// Delayed messages and delay queues in JSON.
//
// Keys, values and headers are bytes. In JSON they are a string if they are text, else {"base64":"..."}; null is Kafka's
// null. Headers are a list, because Kafka repeats and orders them: [{"trace":"1"},{"trace":"2"},{"raw":{"base64":"/wA="}}].
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "engine/relay/relay_status.h"
#include "store/message_store.h"

namespace horae {

// A message to put. `now` is what a delay is counted from; without an id it gets `new_id`.
Result<Message> read_new_message(std::string_view json, Instant now, std::string new_id);

// The id that an item of a batch names although something else about it is wrong; empty if it names none.
std::string message_id_in(std::string_view json);

// The new deadline in the body of a move.
Result<Instant> read_message_change(std::string_view json, Instant now);

// A page is continued by its cursor. kMalformed if it is not one.
std::string cursor_of(const MessagePosition& position);
Result<MessagePosition> read_message_cursor(std::string_view text);

void append_message(std::string& out, const StoredMessage& stored);
void append_message_page(std::string& out, const MessagePage& page);
void append_delay_queue(std::string& out, const RelayStatus& status);

}  // namespace horae
