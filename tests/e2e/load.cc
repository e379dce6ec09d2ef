#include "tests/e2e/load.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <optional>
#include <regex>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "base/waker.h"
#include "tests/support/server_process.h"

namespace horae::testing {
namespace {

using std::literals::operator""ms;
using std::literals::operator""s;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kSubmitters = 2;
constexpr int kWorkers = 4;
constexpr int kHolders = 4;
constexpr Duration kBetweenSubmits = 10ms;
constexpr Duration kBetweenBeats =
    3s;  // longer than the monitor's interval, so that it would notice an expired lease first
constexpr Duration kAfterRefusal = 50ms;

void pause(Duration time) {
  Waker never_woken;
  (void)never_woken.wait(SystemClock().now() + time);
}

int attempt_in(const std::string& claimed) {
  std::smatch found;
  return std::regex_search(claimed, found, std::regex("\"attempt\":([0-9]+)")) ? std::stoi(found[1]) : 0;
}

}  // namespace

class Load::Caller {
 public:
  explicit Caller(Load& load) : load_(load) {}

  std::string new_id() { return to_string(ids_.next()); }

  bool submit(const std::string& queue) {
    const std::string id = new_id();
    if (!call("/v1/tasks", fmt::format(R"({{"id":"{}","queue":"{}","spec":{{}}}})", id, queue))) return false;
    const std::lock_guard lock(load_.mutex_);
    load_.report_.acknowledged.insert(id);
    return true;
  }

  // The id of the claimed task; empty if there was none.
  std::string claim(const std::string& queue) {
    if (owner_.empty()) owner_ = text_in(call("/v1/workers", "").value_or(""), "id");
    const std::string claimed =
        call("/v1/claim", fmt::format(R"({{"owner":"{}","queues":["{}"],"wait":"1s","lease":"10s","token":"{}"}})",
                                      owner_, queue, new_id()))
            .value_or("");
    std::string id = text_in(claimed, "id");
    if (id.empty()) return id;
    attempt_ = attempt_in(claimed);
    const std::lock_guard lock(load_.mutex_);
    ++load_.report_.claims[fmt::format("{} attempt {}", id, attempt_)];
    return id;
  }

  // A heartbeat for the task that was claimed last. A refused one is not repeated: the next one is early enough.
  bool beat(const std::string& id) {
    const auto answer = call_once("/v1/settle", settlement("heartbeat", id));
    return answer && is_accepted(*answer);
  }
  void complete(const std::string& id) {
    const auto answer = call("/v1/settle", settlement("complete", id));
    if (!answer || !is_accepted(*answer)) return;
    const std::lock_guard lock(load_.mutex_);
    load_.report_.completed.insert(id);
  }

 private:
  // The body of the response; nothing if the call was refused.
  std::optional<std::string> call_once(const std::string& path, const std::string& body) {
    const std::string& node = load_.nodes_[load_.next_node_++ % load_.nodes_.size()];
    auto answer = http_.send(
        {.method = "POST", .url = node + path, .headers = {{"content-type", "application/json"}}, .body = body});
    if (answer.ok() && answer->status < 300) return std::move(answer->body);
    note_failure(path, answer);
    return std::nullopt;
  }

  // Repeats a refused call until it succeeds; nothing if the load is abandoned.
  std::optional<std::string> call(const std::string& path, const std::string& body) {
    while (!load_.is_given_up_) {
      if (auto answer = call_once(path, body)) return answer;
      pause(kAfterRefusal);
    }
    return std::nullopt;
  }

  std::string settlement(const std::string& event, const std::string& id) const {
    return fmt::format(R"({{"settlements":[{{"event":"{}","id":"{}","attempt":{},"owner":"{}","lease":"10s"}}]}})",
                       event, id, attempt_, owner_);
  }

  bool is_accepted(const std::string& answer) {
    const std::string verdict = text_in(answer, "verdict");
    if (verdict == "accepted" || verdict == "repeated") return true;
    const std::lock_guard lock(load_.mutex_);
    load_.report_.surprises.push_back(answer);
    return false;
  }

  void note_failure(const std::string& path, const Result<NetResponse>& answer) {
    const std::lock_guard lock(load_.mutex_);
    if (answer.ok() && answer->status == 503 && !answer->header("retry-after").empty()) {
      ++load_.report_.refusals;
    } else if (answer.ok()) {
      load_.report_.surprises.push_back(fmt::format("{}: {} {}", path, answer->status, answer->body));
    } else {
      load_.report_.surprises.push_back(fmt::format("{}: no response: {}", path, answer.error().message));
    }
  }

  Load& load_;
  SystemClock clock_;
  SystemRandom random_;
  UuidSource ids_{clock_, random_};
  HttpClient http_;
  std::string owner_;
  int attempt_ = 0;  // of the task that was claimed last
};

Load::Load(std::vector<std::string> nodes) : nodes_(std::move(nodes)) {}

Load::~Load() {
  submits_ = false;
  works_ = false;
  is_given_up_ = true;
  for (std::thread& each : submitters_) each.join();
  for (std::thread& each : workers_) each.join();
}

void Load::submit_tasks() {
  Caller caller(*this);
  while (submits_ && caller.submit("busy")) pause(kBetweenSubmits);
  --active_submitters_;
}

void Load::complete_tasks() {
  Caller caller(*this);
  while (works_) {
    const std::string id = caller.claim("busy");
    if (!id.empty()) caller.complete(id);
  }
}

void Load::hold_a_task(int number) {
  Caller caller(*this);
  if (!caller.submit("held")) return;
  std::string id;
  while (id.empty() && works_) id = caller.claim("held");
  pause(kBetweenBeats * number / kHolders);  // spreads the heartbeats
  for (bool has_beaten = false; submits_;) {
    pause(kBetweenBeats);
    if (!caller.beat(id) || has_beaten) continue;
    has_beaten = true;
    ++beating_;
  }
  caller.complete(id);
}

void Load::start() {
  for (int i = 0; i < kHolders; ++i) workers_.emplace_back([this, i] { hold_a_task(i); });
  while (beating_ < kHolders) pause(kAfterRefusal);
  for (int i = 0; i < kWorkers; ++i) workers_.emplace_back([this] { complete_tasks(); });
  active_submitters_ = kSubmitters;
  for (int i = 0; i < kSubmitters; ++i) submitters_.emplace_back([this] { submit_tasks(); });
}

bool Load::wait_for_completions(std::size_t count) {
  const std::size_t wanted = completed() + count;
  return wait_until([&] { return completed() >= wanted; });
}

bool Load::finish() {
  submits_ = false;
  const bool has_ended = wait_until([&] { return active_submitters_ == 0 && have_all_ended(); });
  works_ = false;
  if (!has_ended) is_given_up_ = true;
  for (std::thread& each : submitters_) each.join();
  for (std::thread& each : workers_) each.join();
  submitters_.clear();
  workers_.clear();
  return has_ended;
}

std::size_t Load::completed() const {
  const std::lock_guard lock(mutex_);
  return report_.completed.size();
}

bool Load::have_all_ended() const {
  const std::lock_guard lock(mutex_);
  return report_.completed.size() == report_.acknowledged.size();
}

LoadReport Load::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

void expect_each_ended_once(const LoadReport& report, RunningNode& node) {
  EXPECT_THAT(report.surprises, IsEmpty());
  for (const auto& [attempt, count] : report.claims) EXPECT_EQ(count, 1) << attempt;
  for (const std::string& id : report.acknowledged) {
    ASSERT_THAT(node.get("/v1/tasks/" + id).body,
                AllOf(HasSubstr(R"("state":"completed")"), HasSubstr(R"("attempt":1)"),
                      Not(HasSubstr(R"("attempt":2)")), Not(HasSubstr("TaskTimeout"))));
  }
}

}  // namespace horae::testing
