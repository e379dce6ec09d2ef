// The way back from a handler to its connection. Private to the server.
#pragma once

#include <cstdint>
#include <memory>

#include "http/held_bytes.h"
#include "http/responder.h"

namespace horae {

class Connection;

// The AnswerSlot of request `id` of the connection, which it keeps alive. `bytes` are those of the request.
std::shared_ptr<AnswerSlot> make_pending_answer(std::shared_ptr<Connection> connection, std::uint64_t id,
                                                HeldBytes bytes);

}  // namespace horae
