#include "engine/webhook/webhook_sink.h"

#include <gmock/gmock.h>

#include <iostream>
#include <mutex>

#include "base/waker.h"
#include "http/server.h"
#include "tests/support/server_process.h"

namespace horae::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using std::literals::operator""s;

// A webhook that answers with a status, and a sink that calls it.
class Webhook : public ::testing::Test {
 protected:
  Webhook() { EXPECT_TRUE(server_.start().ok()); }
  ~Webhook() override { server_.stop({}); }

  PublishReport call(Publication message, WebhookSinkOptions options) {
    WebhookSink sink(std::move(options), clock_, [] {});
    message.ticket = 7;
    std::vector<Publication> messages = {std::move(message)};
    EXPECT_EQ(sink.publish(messages), 1U);
    std::vector<PublishReport> reports;
    EXPECT_TRUE(wait_until([&] {
      reports = sink.take_reports();
      return !reports.empty();
    }));
    EXPECT_EQ(reports.at(0).ticket, 7U);
    EXPECT_EQ(sink.status().problem, reports.at(0).reason);
    return reports.at(0);
  }
  PublishReport call(Publication message) {
    return call(std::move(message), options_to(server_.urls().front() + "/hook"));
  }

  PublishEnd end_of(int status) {
    status_ = status;
    return call({}).end;
  }

  static WebhookSinkOptions options_to(const std::string& url) {
    return {
        .url = url, .timeout = 30s, .policy = AddressPolicy::allowing(std::vector<std::string>{"127.0.0.1"}).value()};
  }

  std::vector<std::string> headers_named(std::string_view name) {
    std::vector<std::string> values;
    for (const HttpHeader& header : received_.headers) {
      if (equals_ignoring_case(header.name, name)) values.push_back(header.value);
    }
    return values;
  }

  SystemClock clock_;
  Logger log_{std::cerr, clock_, {.level = LogLevel::kOff}};
  std::atomic<int> status_ = 200;
  HttpRequest received_;
  HttpServer server_{
      {.listen = {"127.0.0.1:0"}}, clock_, log_, [this](HttpRequest request, const Responder& responder) {
        received_ = std::move(request);
        responder.answer({.status = status_, .body = "{}", .headers = {{"Location", "http://127.0.0.2:1/"}}});
      }};
};

TEST_F(Webhook, GetsValueIdKeyAndHeadersWithEveryByte) {
  const std::string binary("\0\xff\r\n=", 5);
  const auto report = call({.id = "an id",
                            .key = binary,
                            .value = binary,
                            .headers = {{"a", "2"}, {"b=", binary}, {"a", "1"}, {"null", Bytes()}, {"empty", ""}}});
  EXPECT_EQ(report.end, PublishEnd::kPublished);
  EXPECT_EQ(report.reason, "");
  EXPECT_EQ(received_.method, "POST");
  EXPECT_EQ(received_.path, "/hook");
  EXPECT_EQ(received_.body, binary);
  EXPECT_THAT(headers_named("horae-message-id"), ElementsAre("an%20id"));
  EXPECT_THAT(headers_named("horae-message-key"), ElementsAre("%00%FF%0D%0A%3D"));
  EXPECT_THAT(headers_named("horae-message-value"), ElementsAre());
  EXPECT_THAT(headers_named("horae-header"), ElementsAre("a=2", "b%3D=%00%FF%0D%0A%3D", "a=1", "null", "empty="));
}

TEST_F(Webhook, CanTellANullValueAndKeyFromEmptyOnes) {
  (void)call({.id = "x", .key = Bytes(), .value = Bytes()});
  EXPECT_EQ(received_.body, "");
  EXPECT_THAT(headers_named("horae-message-key"), ElementsAre());
  EXPECT_THAT(headers_named("horae-message-value"), ElementsAre("null"));
}

TEST_F(Webhook, DecidesByItsStatusWhatBecomesOfTheMessage) {
  for (const int status : {200, 201, 202, 204}) EXPECT_EQ(end_of(status), PublishEnd::kPublished) << status;
  for (const int status : {408, 429, 500, 502, 503}) EXPECT_EQ(end_of(status), PublishEnd::kFailed) << status;
  for (const int status : {400, 401, 404, 410, 413, 422}) EXPECT_EQ(end_of(status), PublishEnd::kRefused) << status;
}

TEST_F(Webhook, WithoutAnAnswerMayHaveTakenTheMessage) {
  EXPECT_EQ(call({}, options_to("http://127.0.0.1:1/")).end, PublishEnd::kUnknown);
}

TEST_F(Webhook, AtAPrivateAddressIsNotCalledUnlessItIsAllowed) {
  received_.method = "none";
  const auto report = call({}, {.url = server_.urls().front(), .timeout = 30s, .policy = AddressPolicy()});
  EXPECT_EQ(report.end, PublishEnd::kRefused);
  EXPECT_THAT(report.reason, HasSubstr("loopback"));
  EXPECT_EQ(received_.method, "none");
}

// 127.0.0.1 is allowed, 127.0.0.2 is not.
TEST_F(Webhook, CannotRedirectToAnAddressThatIsNotAllowed) {
  status_ = 307;
  const auto report = call({.value = "x"});
  EXPECT_EQ(report.end, PublishEnd::kRefused);
  EXPECT_THAT(report.reason, HasSubstr("127.0.0.2"));
}

}  // namespace
}  // namespace horae::testing
