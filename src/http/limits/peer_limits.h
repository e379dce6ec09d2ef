// Limits of each peer address: connections, and requests of strangers. Private to the server.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <map>
#include <mutex>

#include "base/clock.h"
#include "http/limits/caller_share.h"

namespace horae {

// An IPv6 network counts as one address (/64), because one machine may use all addresses of it.
//
// Thread-safe.
class PeerLimits {
 public:
  explicit PeerLimits(PeerLimitOptions options);

  using Address = boost::asio::ip::address_v6::bytes_type;
  static Address address_of(const boost::asio::ip::address& address);
  static Address peer_of(const boost::asio::ip::tcp::socket& socket);  // zero if it is not connected any more

  // A connection of this peer; false, and it is not counted, beyond the limit.
  bool try_join(const Address& peer);
  void leave(const Address& peer);

  // Counts a request of a stranger; false beyond the limit. Two seconds' requests may come at once.
  bool take_request(const Address& peer, MonotonicTime now);

  std::size_t remembered() const;

 private:
  // The time at which all requests are allowed again says how many are left now.
  struct Peer {
    std::size_t connections = 0;
    MonotonicTime full_at = {};
  };

  void forget_idle(MonotonicTime now);  // with mutex_ held

  const PeerLimitOptions options_;
  const Duration interval_;  // in which one request is gained
  mutable std::mutex mutex_;
  std::map<Address, Peer> peers_;  // guarded by mutex_
};

}  // namespace horae
