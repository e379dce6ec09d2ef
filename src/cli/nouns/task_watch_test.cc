// A wait follows the node's events instead of polling.

#include "cli/nouns/task_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <optional>

#include "cli/terminal/test_terminal.h"
#include "http/test_server.h"

namespace horae::cli {
namespace {

using ::testing::HasSubstr;

constexpr const char* kWatchedId = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";
constexpr const char* kEvent = "id: worker-1:1\nevent: task\ndata: {\"state\":\"completed\"}\n\n";

// A node with one task, which ends only once the event of its end has been streamed to a client that had polled the task
// after the stream began. So it never ends for a client that only polls.
class NodeWithEvents {
 public:
  std::string address() const { return "127.0.0.1:" + std::to_string(server_.port()); }

  int polls() {
    const std::scoped_lock lock(mutex_);
    return polls_;
  }

 private:
  class Stream final : public BodyStream {
   public:
    explicit Stream(NodeWithEvents& node) : node_(node) {}
    std::string next() override { return node_.next(); }

   private:
    NodeWithEvents& node_;
  };

  void handle(const HttpRequest& request, const Responder& responder) {
    if (request.method == "POST") {
      return responder.answer(
          {.status = 201,
           .body = std::string(R"({"id":")") + kWatchedId + R"(","state":"ready","outcome":"created"})"});
    }
    if (request.path == "/v1/events") return begin_stream(request, responder);
    responder.answer({.body = task()});
  }

  void begin_stream(const HttpRequest& request, const Responder& responder) {
    EXPECT_EQ(request.query, std::string("task=") + kWatchedId);
    responder.stream({.content_type = "text/event-stream"}, std::make_shared<Stream>(*this));
    const std::scoped_lock lock(mutex_);
    reader_ = responder;
  }

  std::string task() {
    const std::scoped_lock lock(mutex_);
    ++polls_;
    if (has_begun_ && !is_sent_) {
      is_due_ = true;
      reader_->resume();
    }
    return std::string(R"({"id":")") + kWatchedId + R"(","queue":"mail","state":")" +
           (is_sent_ ? "completed" : "running") + R"(","attempt":1})";
  }

  // First a comment, as a node sends it to keep the connection alive; then the event.
  std::string next() {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(has_begun_, true)) return ": hello\n\n";
    if (!is_due_ || is_sent_) return "";
    is_sent_ = true;
    return kEvent;
  }

  std::mutex mutex_;
  int polls_ = 0;                    // guarded by mutex_, as all below
  bool has_begun_ = false;           // the first piece of the stream has been read
  bool is_due_ = false;              // the event
  bool is_sent_ = false;             // the event
  std::optional<Responder> reader_;  // of the stream
  testing::TestServer server_{
      [this](const HttpRequest& request, const Responder& responder) { handle(request, responder); }};
};

class WatchByEvents : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(WatchByEvents, EndsWhenTheEventOfTheEndArrives) {
  NodeWithEvents node;
  TestTerminal terminal;
  auto line = GetParam();
  line.insert(line.end(), {"--node", node.address(), "--wait-limit", "20s"});
  const auto printed = terminal.type(line);
  EXPECT_EQ(printed.exit_code, kDone) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("completed"));
  // Before the stream, at its beginning and at the event; one more if this machine stalled for seconds.
  EXPECT_LE(node.polls(), 4) << "it polls instead of following the events";
}

INSTANTIATE_TEST_SUITE_P(Commands, WatchByEvents,
                         ::testing::Values(std::vector<std::string>{"task", "watch", kWatchedId},
                                           std::vector<std::string>{"task", "submit", "mail", "1", "--wait"}),
                         [](const auto& each) { return each.param[1] + (each.index == 0 ? "" : "_wait"); });

}  // namespace
}  // namespace horae::cli
