// The admission of a connection: its place among the others, the share of its caller, and what it does without memory.
#include <fmt/format.h>

#include <iterator>
#include <new>
#include <utility>

#include "http/boost_assertion.h"
#include "http/connection.h"
#include "http/problem.h"

namespace horae {

CallerLimits limits_of_strangers(const HttpLimits& limits) {
  return {.bytes = limits.bytes_in_flight / 8,
          .connections = limits.connections - limits.connections / 4,
          .streams = limits.streams / 4,
          .waiting_calls = 0};
}

// ---- Places ----

// False if the connection was refused. A new connection of a caller with a token is a stranger's until its first
// request, so strangers are not kept from connecting: the oldest of them has to go. A caller with a token has sent its
// request by then.
bool Connection::finds_place(bool is_one_too_many) {
  if (!is_trusted_) {
    has_joined_ = host_->peers.try_join(peer_address_);
    sit_with(host_->strangers);
    share_ = host_->strangers;
    if (!has_joined_) {
      refuse(503, fmt::format("the limit of {} connections from one address is reached; reuse a connection, or retry "
                              "later",
                              host_->limits.peers.connections));
      return false;
    }
    const Quota& places = host_->strangers->connections;
    if (places.held() > places.limit() && close_oldest_stranger()) return true;
  }
  if (!is_one_too_many || close_oldest_stranger()) return true;
  refuse(503, fmt::format("the limit of {} connections is reached; reuse a connection, or retry later",
                          host_->limits.connections));
  return false;
}

// Of this loop: each has about as many. False if there is none but this one.
bool Connection::close_oldest_stranger() {
  const auto& strangers = loop_->strangers();
  if (strangers.empty() || strangers.front() == this) return false;
  strangers.front()->close();
  return true;
}

void Connection::sit_with(const std::shared_ptr<CallerShare>& share) {
  if (seat_ == share) return;
  leave_seat();
  if (!share) return;
  if (share == host_->strangers) {
    share->connections.add(1);
    loop_->strangers().push_back(this);
    place_ = std::prev(loop_->strangers().end());
  } else if (!share->connections.try_add(1)) {
    return sit_with(host_->strangers);  // the first to go if connections are short
  }
  seat_ = share;
}

void Connection::leave_seat() {
  const auto left = std::exchange(seat_, nullptr);
  if (!left) return;
  left->connections.remove(1);
  if (left == host_->strangers) loop_->strangers().erase(place_);
}

// ---- Shares ----

// The connection belongs to the caller of its last request. False if the request was refused, because strangers at this
// address ask too often.
bool Connection::belongs_to(const Admission& admission) {
  const bool is_known = admission.is_known || is_trusted_;
  const auto& share = is_known ? admission.share : host_->strangers;
  if (share_ != share) share_ = share;
  if (!is_trusted_) sit_with(share);
  if (is_known || host_->peers.take_request(peer_address_, host_->clock.now())) return true;
  refuse(429, fmt::format("this address exceeds its limit of {} requests per second without a known token; give a "
                          "token, or retry later",
                          host_->limits.peers.stranger_requests));
  return false;
}

// ---- Failures ----

// An exception is under way. After a failed assertion the parser is not used again.
void Connection::on_thrown() {
  try {
    throw;
  } catch (const BoostAssertion& failed) {
    host_->failed_assertions.add();
    if (const auto suppressed = host_->broken.next(host_->clock.now())) {
      host_->log.error("a connection was closed, because an assertion of Boost failed: this is a bug",
                       {{"assertion", failed.what()}, {"peer", peer_}, {"suppressed", *suppressed}});
    }
    close();
  } catch (const std::bad_alloc&) {
    on_no_memory();
  }
}

// The request under way gets 503. What it held is released before, so that there is memory for that.
void Connection::on_no_memory() {
  if (phase_ == Phase::kClosed) return;
  try {
    log_busy(request_, "out of memory");
    forget_input();
    if (phase_ == Phase::kWriting || phase_ == Phase::kStreaming || phase_ == Phase::kLingering) return close();
    if (const auto sent = std::exchange(sent_, nullptr)) sent(false);
    keep_alive_ = false;
    write(out_of_memory_response(request_), true, {}, {});
  } catch (const std::bad_alloc&) {
    close();
  }
}

}  // namespace horae
