#include "stores/postgres/bulletin.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "stores/postgres/connection/statements.h"

namespace horae::postgres {
namespace {

// A listener sends itself such a message to test that messages arrive; the rest of it is a random number.
constexpr std::string_view kTest = "test ";
constexpr Duration kTestTakes = std::chrono::seconds(1);
constexpr Duration kTestAgain = std::chrono::minutes(1);

constexpr Duration kFirstPause = std::chrono::milliseconds(50);
constexpr Duration kLongestPause = std::chrono::seconds(10);

const Sql kNotify = statement("notify");
constexpr const char* kListen = "LISTEN horae";
constexpr const char* kUnlisten = "UNLISTEN horae";

// Wakes a thread that waits for a socket.
class Alarm {
 public:
  Alarm() : handle_(eventfd(0, EFD_CLOEXEC)) { HORAE_CHECK(handle_ >= 0, "no handle is left for the alarm"); }
  ~Alarm() { close(handle_); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  void ring() { (void)eventfd_write(handle_, 1); }

  // Waits for `socket` (below 0 for none), for the ring, which is never reset, or for the time; without one, forever.
  void wait(int socket, std::optional<Duration> time) const {
    std::array<pollfd, 2> sources = {pollfd{.fd = handle_, .events = POLLIN, .revents = 0},
                                     pollfd{.fd = socket, .events = POLLIN, .revents = 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(time.value_or(Duration::zero()));
    (void)poll(sources.data(), sources.size(), time ? static_cast<int>(left.count()) : -1);
  }

 private:
  const int handle_;
};

class PostgresBulletin final : public Bulletin {
 public:
  PostgresBulletin(std::string url, Pool& pool, Heard heard)
      : url_(std::move(url)), pool_(pool), heard_(std::move(heard)), thread_([this] { run(); }) {}

  ~PostgresBulletin() override {
    is_stopping_ = true;
    alarm_.ring();
    thread_.join();
  }

  Result<void> tell(std::string_view message) override {
    if (message.size() > kMaxBulletinBytes) {
      return Error{ErrorCode::kRefused, fmt::format("a message of {} bytes is too long for the other nodes: {} at most",
                                                    message.size(), kMaxBulletinBytes)};
    }
    const auto told = pool_.alone<bool>([&](Transaction& transaction) -> Result<bool> {
      transaction.send(kNotify, Params::of(message));
      if (auto done = transaction.commit(); !done.ok()) return done.error();
      return true;
    });
    if (!told.ok()) return told.error();
    return {};
  }

  bool can_hear() const override { return can_hear_; }

 private:
  enum class End { kLost, kDeaf };

  void run() {
    Duration pause = kFirstPause;
    while (!is_stopping_) {
      bool has_heard = false;
      const End end = listen(has_heard);
      can_hear_ = false;
      if (is_stopping_) return;
      pause = has_heard ? kFirstPause : std::min(2 * pause, kLongestPause);
      rest_about(end == End::kDeaf ? kTestAgain : pause);
    }
  }

  // Listens until the connection is lost, or turns out to deliver nothing.
  End listen(bool& has_heard) {
    const auto connection = Connection::open(url_);
    if (!connection.ok() || !(*connection)->run_alone(kListen).ok()) return End::kLost;
    const auto hears = test(**connection);
    if (!hears.ok()) return End::kLost;
    if (!*hears) {
      // Behind a pooler the session may outlive this connection.
      (void)(*connection)->run_alone(kUnlisten);
      return End::kDeaf;
    }
    has_heard = true;
    can_hear_ = true;
    heard_(std::nullopt);
    while (!is_stopping_) {
      if (!pass_on(**connection, {}).ok()) return End::kLost;
      alarm_.wait((*connection)->socket(), std::nullopt);
    }
    return End::kLost;
  }

  // Sends through another connection: a pooler may deliver a message to the connection that it came from.
  Result<bool> test(Connection& connection) {
    const std::string message = fmt::format("{}{:016x}", kTest, random_.next());
    if (auto told = tell(message); !told.ok()) return told.error();
    const MonotonicTime deadline = clock_.now() + kTestTakes;
    while (!is_stopping_) {
      auto hears = pass_on(connection, message);
      if (!hears.ok() || *hears) return hears;
      const Duration left = deadline - clock_.now();
      if (left <= Duration::zero()) return false;
      alarm_.wait(connection.socket(), left);
    }
    return false;
  }

  // Passes on what has arrived. True if `awaited` was among it.
  Result<bool> pass_on(Connection& connection, std::string_view awaited) {
    const auto told = connection.take_notifications();
    if (!told) return Error{ErrorCode::kUnavailable, "the connection was lost"};
    bool is_there = false;
    for (const std::string& message : *told) {
      if (!message.starts_with(kTest)) heard_(message);
      is_there = is_there || (!awaited.empty() && message == awaited);
    }
    return is_there;
  }

  // With jitter, so that nodes that lost a server together do not reconnect together.
  void rest_about(Duration time) {
    alarm_.wait(-1,
                time / 2 + Duration(static_cast<Duration::rep>(static_cast<double>(time.count()) * random_.unit())));
  }

  const std::string url_;
  Pool& pool_;
  const Heard heard_;
  SystemClock clock_;
  SystemRandom random_;
  Alarm alarm_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> can_hear_ = false;
  std::thread thread_;  // last: it uses all other members
};

}  // namespace

std::unique_ptr<Bulletin> make_bulletin(const std::string& url, Pool& pool, Bulletin::Heard heard) {
  return std::make_unique<PostgresBulletin>(url, pool, std::move(heard));
}

}  // namespace horae::postgres
