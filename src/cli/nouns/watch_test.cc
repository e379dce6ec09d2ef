// Waiting follows the node's events: a task whose end is only told by one is seen to end.

#include "cli/nouns/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <optional>

#include "cli/terminal/test_terminal.h"
#include "http/test_server.h"

namespace horae::cli {
namespace {

using ::testing::HasSubstr;

constexpr const char* kId = "0190f7c2-0a1b-7c3d-8e4f-0123456789ab";
constexpr const char* kEvent = "id: worker-1:1\nevent: task\ndata: {\"state\":\"completed\"}\n\n";

// A node with one task, which runs until an event of its end has been streamed to somebody who had looked after the
// begin of the stream. So it never ends for those who only ask again and again.
class NodeWithEvents {
 public:
  std::string address() const { return "127.0.0.1:" + std::to_string(server_.port()); }

  int looks() {
    const std::scoped_lock lock(mutex_);
    return looks_;
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
          {.status = 201, .body = std::string(R"({"id":")") + kId + R"(","state":"ready","outcome":"created"})"});
    }
    if (request.path == "/v1/events") return begin_stream(request, responder);
    responder.answer({.body = look()});
  }

  void begin_stream(const HttpRequest& request, const Responder& responder) {
    EXPECT_EQ(request.query, std::string("task=") + kId);
    responder.stream({.content_type = "text/event-stream"}, std::make_shared<Stream>(*this));
    const std::scoped_lock lock(mutex_);
    reader_ = responder;
  }

  std::string look() {
    const std::scoped_lock lock(mutex_);
    ++looks_;
    if (has_begun_ && !is_told_) {
      is_due_ = true;
      reader_->resume();
    }
    return std::string(R"({"id":")") + kId + R"(","queue":"mail","state":")" + (is_told_ ? "completed" : "running") +
           R"(","attempt":1})";
  }

  // First a sign of life, as a node sends it; then the event.
  std::string next() {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(has_begun_, true)) return ": hello\n\n";
    if (!is_due_ || is_told_) return "";
    is_told_ = true;
    return kEvent;
  }

  std::mutex mutex_;
  int looks_ = 0;                    // guarded by mutex_, as all below
  bool has_begun_ = false;           // of the stream, at least its first piece is taken
  bool is_due_ = false;              // the event
  bool is_told_ = false;             // the event
  std::optional<Responder> reader_;  // of the stream
  testing::TestServer server_{
      [this](const HttpRequest& request, const Responder& responder) { handle(request, responder); }};
};

class WaitByEvents : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(WaitByEvents, EndsWhenAnEventTellsTheEnd) {
  NodeWithEvents node;
  TestTerminal terminal;
  auto line = GetParam();
  line.insert(line.end(), {"--node", node.address(), "--wait-limit", "20s"});
  const auto printed = terminal.type(line);
  EXPECT_EQ(printed.exit_code, kDone) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("completed"));
  // Before the stream, at its begin and at the event; one more if this machine stood still for seconds.
  EXPECT_LE(node.looks(), 4) << "it asks again and again instead of listening";
}

INSTANTIATE_TEST_SUITE_P(Commands, WaitByEvents,
                         ::testing::Values(std::vector<std::string>{"task", "watch", kId},
                                           std::vector<std::string>{"task", "submit", "mail", "1", "--wait"}),
                         [](const auto& each) { return each.param[1] + (each.index == 0 ? "" : "_wait"); });

}  // namespace
}  // namespace horae::cli
