#include "api/event_stream.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "api/json/json_writer.h"

namespace horae {
namespace {

constexpr std::size_t kEventsAtOnce = 512;
constexpr std::size_t kPieceBytes = 32 << 10;
constexpr Duration kKeepAlive = std::chrono::seconds(10);

}  // namespace

std::optional<std::uint64_t> parse_event_id(std::string_view text, std::string_view node) {
  if (!text.starts_with(node) || !text.substr(node.size()).starts_with(':')) return std::nullopt;
  const std::string_view digits = text.substr(node.size() + 1);
  std::uint64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  return number;
}

EventStream::EventStream(EventRing& ring, const Clock& clock, std::string node, EventFilter filter,
                         std::optional<std::uint64_t> last, std::function<bool()> may_go_on)
    : ring_(ring),
      clock_(clock),
      node_(std::move(node)),
      filter_(std::move(filter)),
      may_go_on_(std::move(may_go_on)),
      has_missed_(last && *last > ring.newest()),
      position_(has_missed_ ? ring.newest() : last.value_or(ring.newest())),
      last_sent_(clock.now()) {}

EventStream::~EventStream() { ring_.leave(reader_); }

void EventStream::begin(std::function<void()> resume) { reader_ = ring_.join(std::move(resume)); }

std::string EventStream::next() {
  is_over_ = is_over_ || !may_go_on_();
  if (is_over_) return {};
  std::string piece;
  if (std::exchange(is_new_, false)) {
    piece = fmt::format("retry: 1000\n{}\n", id_line(position_));
    if (has_missed_) piece += resync(position_);
  }
  while (piece.size() < kPieceBytes) {
    const EventRing::Read read = ring_.after(position_, kEventsAtOnce);
    if (read.is_lost) piece += resync(read.next);
    for (const EventRing::Numbered& each : read.events) piece += event_of(each);
    const bool is_at_end = read.next == position_;
    position_ = read.next;
    if (is_at_end) break;
  }
  const MonotonicTime now = clock_.now();
  if (piece.empty() && now - last_sent_ >= kKeepAlive) piece = ":\n\n";
  if (!piece.empty()) last_sent_ = now;
  return piece;
}

std::string EventStream::event_of(const EventRing::Numbered& each) {
  const LiveEvent& event = each.event;
  if (filter_.task && event.task != *filter_.task) return {};
  if (event.queue.empty() && (filter_.queue || filter_.scope)) {
    // The queue is unknown, and with it whether the reader may see the event. So the reader is asked to fetch its
    // tasks: those requests check its access.
    return resync(each.number);
  }
  if (filter_.queue && event.queue != *filter_.queue) return {};
  if (!allows(filter_.scope, event.queue)) return {};
  std::string data;
  JsonObject object(data);
  object.add("task", event.task);
  object.add("state", to_string(event.state));
  if (!event.queue.empty()) object.add("queue", event.queue);
  object.end();
  return fmt::format("{}event: task\ndata: {}\n\n", id_line(each.number), data);
}

std::string EventStream::resync(std::uint64_t number) const {
  return fmt::format("{}event: resync\ndata: {{}}\n\n", id_line(number));
}

std::string EventStream::id_line(std::uint64_t number) const { return fmt::format("id: {}:{}\n", node_, number); }

}  // namespace horae
