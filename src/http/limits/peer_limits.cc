#include "http/limits/peer_limits.h"

#include <algorithm>

namespace horae {
namespace {

constexpr int kBurstSeconds = 2;
constexpr std::size_t kNetworkBytes = 8;  // of an IPv6 address

}  // namespace

PeerLimits::PeerLimits(PeerLimitOptions options)
    : options_(options), interval_(Duration(std::chrono::seconds(1)) / std::max(options.stranger_requests, 1)) {}

PeerLimits::Address PeerLimits::address_of(const boost::asio::ip::address& address) {
  using boost::asio::ip::make_address_v6;
  using boost::asio::ip::v4_mapped;
  if (address.is_v4()) return make_address_v6(v4_mapped, address.to_v4()).to_bytes();
  Address bytes = address.to_v6().to_bytes();
  if (!address.is_loopback()) std::fill(bytes.begin() + kNetworkBytes, bytes.end(), std::uint8_t{0});
  return bytes;
}

PeerLimits::Address PeerLimits::peer_of(const boost::asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? Address() : address_of(endpoint.address());
}

bool PeerLimits::try_join(const Address& peer) {
  if (!options_.is_on) return true;
  const std::lock_guard lock(mutex_);
  Peer& joined = peers_[peer];
  if (joined.connections >= options_.connections) return false;
  ++joined.connections;
  return true;
}

void PeerLimits::leave(const Address& peer) {
  if (!options_.is_on) return;
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second.connections == 0) return;
  --found->second.connections;
  if (found->second.connections == 0 && found->second.full_at == MonotonicTime()) peers_.erase(found);
}

bool PeerLimits::take_request(const Address& peer, MonotonicTime now) {
  if (!options_.is_on) return true;
  const std::lock_guard lock(mutex_);
  if (peers_.size() >= options_.max_remembered) forget_idle(now);
  Peer& asking = peers_[peer];
  const MonotonicTime full_at = std::max(asking.full_at, now) + interval_;
  if (full_at - now > std::chrono::seconds(kBurstSeconds)) return false;
  asking.full_at = full_at;
  return true;
}

// Those with a full allowance are as good as unknown. If that leaves too many, the others are forgotten as well.
void PeerLimits::forget_idle(MonotonicTime now) {
  std::erase_if(peers_, [now](const auto& each) { return each.second.connections == 0 && each.second.full_at <= now; });
  if (peers_.size() < options_.max_remembered) return;
  std::erase_if(peers_, [](const auto& each) { return each.second.connections == 0; });
}

std::size_t PeerLimits::remembered() const {
  const std::lock_guard lock(mutex_);
  return peers_.size();
}

}  // namespace horae
