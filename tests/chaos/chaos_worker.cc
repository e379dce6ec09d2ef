// chaos_worker work|drain URL...: submits (unless it drains), claims and settles tasks over HTTP at random nodes,
// forever, in a few threads, and prints each acknowledgement in the format of store_worker. It is meant to be killed
// and paused at any moment, and so are the nodes: a call without a response is repeated at another node, with the same
// ids and tokens.

#include <fmt/format.h>
#include <poll.h>

#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/json_scan.h"
#include "base/random.h"
#include "base/uuid.h"
#include "net/http_client.h"

namespace {

using namespace horae;  // NOLINT(google-build-using-namespace): a program of one file

constexpr int kThreads = 2;
constexpr int kBatch = 8;
constexpr int kPauseMilliseconds = 50;
constexpr std::string_view kQueue = "chaos";

// Thread-safe: lines of several threads do not mix.
void print(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::cout << line << std::endl;
}

[[noreturn]] void fail(const std::string& message) {
  print("broken " + message.substr(0, message.find('\n')));
  std::_Exit(1);
}

std::string_view field(std::string_view object, std::string_view name) {
  const auto members = scan_object(object);
  if (!members.ok()) fail("not JSON: " + std::string(object.substr(0, 200)));
  for (const JsonMember& member : *members) {
    if (member.key == name) return member.value;
  }
  return {};
}

std::string text(std::string_view object, std::string_view name) {
  const std::string_view value = field(object, name);
  return value.size() < 2 ? "" : std::string(value.substr(1, value.size() - 2));
}

struct Held {
  std::string id;
  int attempt = 0;
};

class Worker {
 public:
  Worker(std::vector<std::string> nodes, bool drains) : nodes_(std::move(nodes)), drains_(drains) {}

  void work_forever() {
    owner_ = text(retry("/v1/workers", ""), "id");
    while (true) {
      if (!drains_) submit();
      settle(claim());
    }
  }

 private:
  // Repeats an idempotent call at random nodes until one responds with success.
  std::string retry(const std::string& path, const std::string& body) {
    while (true) {
      const std::string& node = nodes_[static_cast<std::size_t>(random_.unit() * static_cast<double>(nodes_.size()))];
      const auto response = http_.send({.method = "POST",
                                        .url = node + path,
                                        .headers = {{"content-type", "application/json"}},
                                        .body = body,
                                        .timeout = std::chrono::seconds(5)});
      if (response.ok() && response->status < 300) return response->body;
      if (response.ok() && response->status != 503 && response->status != 429) fail(response->body);
      print("unavailable " +
            (response.ok() ? std::to_string(response->status) : response.error().message.substr(0, 80)));
      poll(nullptr, 0, kPauseMilliseconds);
    }
  }

  // The ids are chosen here, so that a repeated batch makes its tasks once.
  void submit() {
    std::vector<std::string> ids;
    std::string body = R"({"tasks":[)";
    for (int i = 0; i < kBatch; ++i) {
      ids.push_back(to_string(ids_.next()));
      body += fmt::format(R"({}{{"id":"{}","queue":"{}","spec":{{"n":{}}}}})", i > 0 ? "," : "", ids.back(), kQueue, i);
    }
    const std::string response = retry("/v1/tasks/batch", body + "]}");
    const auto outcomes = scan_array(field(response, "outcomes"));
    if (!outcomes.ok() || outcomes->size() != ids.size()) fail("wrong number of outcomes: " + response);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (text((*outcomes)[i], "id") == ids[i] && field((*outcomes)[i], "problem").empty()) {
        print("submitted " + ids[i] + " 0");
      }
    }
  }

  std::vector<Held> claim() {
    const std::string response = retry(
        "/v1/claim", fmt::format(R"({{"owner":"{}","queues":["{}"],"max":{},"wait":"1s","lease":"3s","token":"{}"}})",
                                 owner_, kQueue, kBatch, to_string(ids_.next())));
    std::vector<Held> held;
    const auto tasks = scan_array(field(response, "tasks"));
    if (!tasks.ok()) fail("no tasks: " + response);
    for (const std::string_view task : *tasks) {
      held.push_back({text(task, "id"), std::atoi(std::string(field(task, "attempt")).c_str())});
      print(fmt::format("claimed {} {}", held.back().id, held.back().attempt));
    }
    return held;
  }

  // Completes most tasks, yields some, and drops a few, so that their leases expire.
  void settle(const std::vector<Held>& held) {
    std::vector<Held> completed;
    std::string body;
    for (const Held& each : held) {
      const double chance = drains_ ? 1.0 : random_.unit();
      if (chance < 0.02) continue;
      const bool yields = chance < 0.06;
      body += fmt::format(R"({}{{"event":"{}","id":"{}","attempt":{},"owner":"{}"}})", body.empty() ? "" : ",",
                          yields ? "yield" : "complete", each.id, each.attempt, owner_);
      completed.push_back(yields ? Held{} : each);
    }
    if (body.empty()) return;
    const std::string response = retry("/v1/settle", R"({"settlements":[)" + body + "]}");
    const auto outcomes = scan_array(field(response, "outcomes"));
    if (!outcomes.ok() || outcomes->size() != completed.size()) fail("wrong number of outcomes: " + response);
    for (std::size_t i = 0; i < completed.size(); ++i) {
      const std::string verdict = text((*outcomes)[i], "verdict");
      if (verdict == "not_found") fail("lost: " + std::string((*outcomes)[i]));
      const bool is_accepted = verdict == "accepted" || verdict == "repeated";
      if (is_accepted && !completed[i].id.empty()) {
        print(fmt::format("completed {} {}", completed[i].id, completed[i].attempt));
      }
    }
  }

  const std::vector<std::string> nodes_;
  const bool drains_;
  SystemClock clock_;
  SystemRandom random_;
  UuidSource ids_{clock_, random_};
  HttpClient http_;
  std::string owner_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool drains = std::string(argv[1]) == "drain";
  const std::vector<std::string> nodes(argv + 2, argv + argc);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&] { Worker(nodes, drains).work_forever(); });
  for (std::thread& thread : threads) thread.join();
}
