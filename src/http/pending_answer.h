// Carries a handler's answer back to its connection. Private to the server.
#pragma once

#include <cstdint>
#include <memory>

#include "http/limits/held_bytes.h"
#include "http/responder.h"

namespace horae {

class Connection;

// The AnswerSlot of request `id`. It keeps the connection alive, and holds `bytes`, those of the request, until
// destroyed.
std::shared_ptr<AnswerSlot> make_pending_answer(std::shared_ptr<Connection> connection, std::uint64_t id,
                                                HeldBytes bytes);

}  // namespace horae
