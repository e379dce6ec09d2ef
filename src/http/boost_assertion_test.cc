// A failed assertion of Beast is a bug that a request found: it costs its connection, not the node.
#include "http/boost_assertion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/assert.hpp>
#include <string>

#include "http/request_parser.h"
#include "http/test_client.h"
#include "http/test_server.h"

namespace horae::testing {
namespace {

using ::testing::HasSubstr;

// Beast requires five bytes here; Connection::is_part_of_chunk() is why it gets them.
TEST(BoostAssertion, AFailedAssertionOfBeastIsAnException) {
  RequestParser parser;
  parser.eager(true);
  boost::system::error_code error;
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  (void)parser.put(boost::asio::buffer(head), error);
  (void)parser.put(boost::asio::buffer(std::string("0\r\n")), error);
  EXPECT_THROW((void)parser.put(boost::asio::buffer(std::string("0\r\n\r")), error), BoostAssertion);
}

// Its next reading fails an assertion, as if Beast had failed one in the step that reads it.
class BrokenClock final : public Clock {
 public:
  Instant wall_now() const override { return real_.wall_now(); }
  MonotonicTime now() const override {
    BOOST_ASSERT(!is_broken.exchange(false));
    return real_.now();
  }

  mutable std::atomic<bool> is_broken = false;

 private:
  const SystemClock real_;
};

class CountingMeter final : public Meter {
 public:
  Counter& counter(const Figure& figure, const Labels& labels) override {
    if (figure.name == "horae_http_failed_assertions_total") return failed_;
    return no_meter().counter(figure, labels);
  }
  Gauge& gauge(const Figure& figure, const Labels& labels) override { return no_meter().gauge(figure, labels); }
  Histogram& histogram(const Figure& figure, std::span<const double> buckets, const Labels& labels) override {
    return no_meter().histogram(figure, buckets, labels);
  }
  std::unique_ptr<Probe> probe(const Figure& figure, std::function<double()> read) override {
    return no_meter().probe(figure, std::move(read));
  }

  int failed() const { return failed_.count; }

 private:
  struct Count final : Counter {
    void add(double) override { ++count; }
    std::atomic<int> count = 0;
  };
  Count failed_;
};

TEST(BoostAssertion, ClosesTheConnectionAndIsCounted) {
  BrokenClock clock;
  CountingMeter meter;
  HttpServerOptions options{.listen = {"127.0.0.1:0"}};
  options.limits.sweep = std::chrono::hours(1);  // which reads the clock, too
  TestServer server(echo, options, &clock, meter);
  TestClient other(server.port());
  EXPECT_EQ(other.call("GET", "/before").status, 200);
  for (int i = 1; i <= 3; ++i) {
    TestClient client(server.port());
    EXPECT_EQ(client.call("GET", "/").status, 200);
    clock.is_broken = true;
    ASSERT_TRUE(client.send("GET / HTTP/1.1\r\n"));
    EXPECT_TRUE(client.is_closed_by_server());
    EXPECT_EQ(meter.failed(), i);
  }
  EXPECT_EQ(other.call("GET", "/after").body, "/after");
  server.stop();
  EXPECT_THAT(server.said(), HasSubstr("assertion of Boost failed"));
  EXPECT_THAT(server.said(), HasSubstr("is_broken"));
}

}  // namespace
}  // namespace horae::testing
