#include "observe/peer_events.h"

#include <utility>

namespace horae {
namespace {

constexpr Duration kBetweenLosses = std::chrono::seconds(1);  // reported to the readers of a deaf node

}  // namespace

PeerEvents::PeerEvents(EventRing& ring, PeerLink link) : ring_(ring), link_(std::move(link)) {
  ring_.set_first_reader([this] { on_first_reader(); });
}

void PeerEvents::on_changes(std::span<const Change> changes) {
  ring_.add(changes);
  if (!peers_want_events_) return;
  LiveEvent event;
  for (const Change& change : changes) {
    if (!is_live_event(change)) continue;
    assign(event, change);
    link_.send(format_event(event));
  }
}

void PeerEvents::receive(const std::vector<std::string>& events, bool lost) {
  std::vector<LiveEvent> parsed;
  for (const std::string& text : events) {
    if (auto event = parse_event(text)) parsed.push_back(std::move(*event));
  }
  ring_.add(parsed);
  if (lost) ring_.lose();
}

void PeerEvents::on_first_reader() {
  const std::lock_guard lock(mutex_);
  if (!wants_events_) set_wants(true);
}

void PeerEvents::set_wants(bool wants) {
  wants_events_ = wants;
  link_.set_wants_events(wants);
}

void PeerEvents::on_tick(const Tick& tick) {
  // In this order: events that happen after the loss was sent are sent themselves.
  const bool did_want = peers_want_events_.exchange(tick.peers_want_events);
  if (tick.peers_want_events && !did_want) link_.send_loss();
  bool is_missing = false;
  {
    const std::lock_guard lock(mutex_);
    const bool has_readers = ring_.readers() > 0;
    if (has_readers != wants_events_) set_wants(has_readers);
    is_missing = has_readers && tick.peers > 0 && link_.is_deaf() && is_time_to_report_loss(tick.now);
  }
  if (is_missing) ring_.lose();
}

bool PeerEvents::is_time_to_report_loss(Instant now) {
  // The store's clock may be set back.
  if (last_loss_ && now >= *last_loss_ && now - *last_loss_ < kBetweenLosses) return false;
  last_loss_ = now;
  return true;
}

}  // namespace horae
