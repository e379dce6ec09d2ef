#include "bench/delay_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <fstream>
#include <random>
#include <thread>
#include <utility>

#include "base/time_text.h"
#include "tests/support/kafka_client.h"

namespace horae::bench {
namespace {

using Clock = std::chrono::system_clock;
using testing::KafkaReader;
using testing::KafkaRecord;
using testing::KafkaSender;

constexpr int kPartitions = 4;
constexpr std::int64_t kAdvanceMs = 50;

std::string make_topic(testing::KafkaBroker& kafka) {
  return kafka.make_topic({.partitions = kPartitions, .settings = {{"message.timestamp.type", "LogAppendTime"}}});
}

std::int64_t ms_of(Clock::time_point time) {
  return std::chrono::duration_cast<Milliseconds>(time.time_since_epoch()).count();
}

// A value names its message: "NUMBER" and padding. The deadlines are in memory.
std::size_t number_of(const KafkaRecord& record) {
  std::size_t number = 0;
  const std::string& text = *record.value;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

struct Sent {
  std::vector<std::int64_t> deadlines;  // ms, by number; written before the message is sent
  std::atomic<std::size_t> count = 0;
  std::atomic<bool> is_over = false;
};

void send_all(const std::string& address, const std::string& topic, const Load& load, Clock::time_point begin,
              Sent& sent) {
  KafkaSender sender(address);
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int64_t> delay(load.soonest.count(), load.latest.count());
  const std::size_t all = sent.deadlines.size();
  for (std::size_t i = 0; i < all;) {
    const double passed = std::chrono::duration<double>(Clock::now() - begin).count();
    const auto due = std::min(all, static_cast<std::size_t>(passed * load.per_s));
    for (; i < due; ++i) {
      const std::int64_t deadline = ms_of(Clock::now()) + delay(random);
      sent.deadlines[i] = deadline;
      std::string value = std::to_string(i) + " ";
      value.resize(std::max(value.size(), load.value_bytes), '.');
      const Instant at{std::chrono::milliseconds(deadline)};
      sender.send(topic, {.key = std::to_string(i % 1'000),
                          .value = std::move(value),
                          .headers = {{"chronosMessageId", fmt::format("{:x}-{}", ms_of(begin), i)},
                                      {"chronosDeadline", format_instant(at)}}});
      sent.count = i + 1;
    }
    std::this_thread::sleep_for(Milliseconds(1));
  }
  sender.flush();
  sent.is_over = true;
}

}  // namespace

DelayNodes::DelayNodes(testing::KafkaBroker& kafka, const DelayPlan& plan)
    : input_(make_topic(kafka)), output_(make_topic(kafka)) {
  const std::string path = folder_.path() + "/horae.toml";
  std::ofstream file(path);
  if (plan.has_queue)
    file << fmt::format(
        "[kafka]\n\"bootstrap.servers\" = \"{}\"\n[delay.bench]\ninput = \"{}\"\noutput = \"{}\"\ntiming_advance = "
        "\"{}\"\n",
        kafka.address(), input_, output_, plan.advance);
  file.close();
  const std::vector<std::string> flags = {"--config",    path,     "--store",      plan.store,    "--http-listen",
                                          "127.0.0.1:0", "--data", folder_.path(), "--log-level", "off"};
  for (int i = 0; i < plan.nodes; ++i) nodes_.push_back(std::make_unique<testing::RunningNode>(flags));
}

double LoadResult::lateness_at(double share) const {
  if (lateness.empty()) return 0;
  return lateness[static_cast<std::size_t>(share * static_cast<double>(lateness.size() - 1))];
}

LoadResult run_load(testing::KafkaBroker& kafka, const DelayNodes& nodes, const Load& load, Milliseconds patience) {
  // The group is complete, and nothing is left of an earlier run, once one message has passed.
  KafkaReader reader(kafka.address(), nodes.output());
  {
    KafkaSender sender(kafka.address());
    const Instant now{std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch())};
    for (int i = 0; i < kPartitions; ++i) {
      sender.send(nodes.input(), {.value = "warm",
                                  .headers = {{"chronosMessageId", fmt::format("warm-{}-{}", ms_of(Clock::now()), i)},
                                              {"chronosDeadline", format_instant(now)}},
                                  .partition = i});
    }
    sender.flush();
    for (int i = 0; i < kPartitions; ++i) (void)reader.next(patience);
  }
  Sent sent;
  sent.deadlines.resize(static_cast<std::size_t>(load.per_s * load.sending.count() / 1'000));
  const auto begin = Clock::now();
  const std::int64_t steady_from = ms_of(begin + load.latest);
  const std::int64_t steady_to = ms_of(begin + load.sending);
  std::thread sender([&] { send_all(kafka.address(), nodes.input(), load, begin, sent); });

  LoadResult result;
  std::vector<std::uint8_t> times(sent.deadlines.size());
  std::size_t steady = 0;
  std::size_t distinct = 0;
  while (distinct < times.size()) {
    const auto record = reader.next(patience);
    if (!record) break;
    const std::size_t number = number_of(*record);
    if (times.at(number)++ > 0) {
      ++result.duplicates;
      continue;
    }
    ++distinct;
    const std::int64_t at = record->timestamp_ms;
    const std::int64_t deadline = sent.deadlines[number];
    if (at >= steady_from && at < steady_to) ++steady;
    if (at < deadline - kAdvanceMs - 1) ++result.early;
    if (deadline >= steady_from && deadline < steady_to) result.lateness.push_back(static_cast<double>(at - deadline));
  }
  sender.join();
  while (reader.next(Milliseconds(500))) ++result.duplicates;
  std::ranges::sort(result.lateness);
  result.sent = sent.count;
  result.missing = times.size() - distinct;
  result.sent_per_s = load.per_s;
  result.received_per_s = static_cast<double>(steady) * 1e3 / static_cast<double>(steady_to - steady_from);
  return result;
}

double measure_floor(testing::KafkaBroker& kafka, int records) {
  const std::string from = make_topic(kafka);
  const std::string to = make_topic(kafka);
  KafkaSender sender(kafka.address());
  for (int i = 0; i < records; ++i) sender.send(from, {.key = std::to_string(i), .value = std::string(200, '.')});
  sender.flush();
  KafkaReader reader(kafka.address(), from);
  std::optional<Clock::time_point> begin;
  for (int i = 0; i < records; ++i) {
    const auto record = reader.next(std::chrono::seconds(30));
    if (!record) return 0;
    if (!begin) begin = Clock::now();
    sender.send(to, *record);
  }
  sender.flush();
  return records / std::chrono::duration<double>(Clock::now() - *begin).count();
}

}  // namespace horae::bench
