#include "tests/sim/delay/client.h"

#include <fmt/format.h>

#include "base/time_text.h"
#include "tests/sim/delay/messages.h"

namespace horae::sim {
namespace {

constexpr std::size_t kRecent = 50;

}  // namespace

DelayClient::DelayClient(World& world, Broker& broker, DelayLedger& ledger, const DelayPlan& plan,
                         std::vector<std::unique_ptr<RelayNode>>& nodes)
    : world_(world), broker_(broker), ledger_(ledger), plan_(plan), nodes_(nodes) {
  broker_.consume([this](const Publication& message) { receive(message); });
}

void DelayClient::start() {
  if (is_stopped_) return;
  world_.events.after(world_.chance.around(plan_.send_every), [this] {
    next();
    start();
  });
}

std::string DelayClient::draw_id() {
  if (!recent_.empty() && world_.chance.happens(plan_.repeated)) return world_.chance.one_of(recent_);
  std::string id = fmt::format("id-{}", last_ + 1);
  recent_.push_back(id);
  if (recent_.size() > kRecent) recent_.erase(recent_.begin());
  return id;
}

void DelayClient::next() {
  if (is_stopped_) return;
  Chance& chance = world_.chance;
  const Duration late = chance.between({}, std::chrono::seconds(5));
  const Duration delay = chance.happens(plan_.late) ? -late : chance.between({}, plan_.longest_delay);
  if (chance.happens(plan_.put)) {
    put(fmt::format("put-{}", last_ + 1), delay);
  } else if (chance.happens(plan_.bad)) {
    send("bad", delay, MessageKind::kBad);
  } else if (chance.happens(plan_.refused)) {
    send(fmt::format("refused-{}", last_ + 1), delay, MessageKind::kRefused);
  } else {
    const std::string id = draw_id();
    if (chance.happens(plan_.rearmed)) rearms_[id] = chance.between(1, 4);
    send(id, delay, MessageKind::kGood);
    // Some come twice at once.
    if (chance.happens(plan_.repeated / 2)) send(id, delay, MessageKind::kGood);
  }
  meddle();
}

void DelayClient::send(const std::string& id, Duration delay, MessageKind kind) {
  const MessageNumber number = ++last_;
  const Instant deadline = world_.now() + std::chrono::floor<std::chrono::microseconds>(delay);
  Content content = content_of(number);
  SourceRecord record{
      .place = broker_.next_place(), .key = content.key, .value = content.value, .headers = content.headers};
  record.headers.insert(record.headers.begin(), {std::string(kDeadlineHeader), format_instant(deadline)});
  if (kind != MessageKind::kBad) record.headers.push_back({std::string(kMessageIdHeader), id});
  if (kind == MessageKind::kRefused) refused_.insert(number);
  ledger_.sent(number, id, deadline, kind, record.place);
  broker_.append(std::move(record));
}

void DelayClient::put(const std::string& id, Duration delay) {
  const MessageNumber number = ++last_;
  const Instant deadline = world_.now() + std::chrono::floor<std::chrono::microseconds>(delay);
  Content content = content_of(number);
  auto message = std::make_shared<NewMessage>(NewMessage{
      .message =
          {.id = id, .deadline = deadline, .key = content.key, .value = content.value, .headers = content.headers},
      .place = std::nullopt});
  ledger_.sent(number, id, deadline, MessageKind::kGood, std::nullopt);
  ++open_puts_;
  try_put(message, number);
}

void DelayClient::try_put(const std::shared_ptr<NewMessage>& message, MessageNumber number) {
  RelayNode& node = *world_.chance.one_of(nodes_);
  if (node.put(*message)) {
    --open_puts_;
    return;
  }
  world_.events.after(world_.chance.around(std::chrono::milliseconds(200)),
                      [this, message, number] { try_put(message, number); });
}

void DelayClient::meddle() {
  if (recent_.empty()) return;
  RecordedMessages messages(world_, ledger_);
  const std::string& id = world_.chance.one_of(recent_);
  if (world_.chance.happens(plan_.cancelled)) {
    (void)messages.cancel(plan_.relay.queue, std::span(&id, 1)).value();
  } else if (world_.chance.happens(plan_.moved)) {
    const Duration delay = world_.chance.between({}, plan_.longest_delay);
    const MoveWish wish{.id = id, .deadline = world_.now() + std::chrono::floor<std::chrono::microseconds>(delay)};
    (void)messages.move(plan_.relay.queue, std::span(&wish, 1)).value();
  }
}

void DelayClient::receive(const Publication& message) {
  const auto rearm = rearms_.find(message.id);
  if (rearm == rearms_.end() || is_stopped_) return;
  if (--rearm->second == 0) rearms_.erase(rearm);
  const Duration delay =
      world_.chance.happens(0.3) ? Duration(-std::chrono::seconds(1)) : world_.chance.between({}, plan_.longest_delay);
  world_.events.after(world_.chance.around(std::chrono::milliseconds(3)), [this, id = message.id, delay] {
    if (!is_stopped_) send(id, delay, MessageKind::kGood);
  });
}

}  // namespace horae::sim
